// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import java.io.RandomAccessFile;

/**
 * Opens a blob within an archive, as io.ferry.android.Assets does, and prints what it is: PrintAsset FILE OFFSET LENGTH
 */
final class PrintAsset {
  private PrintAsset() {}

  public static void main(String[] args) throws Exception {
    try (RandomAccessFile file = new RandomAccessFile(args[0], "r");
         Model model = Model.open(Tests.number(file), Long.parseLong(args[1]), Long.parseLong(args[2]))) {
      System.out.println("an asset for " + model.taskName());
    }
  }
}
