// SPDX-License-Identifier: Apache-2.0
package android.os;

/** What android.jar of API 23 lacks, for tests: compiled against only. */
public class PowerManager {
  public float getThermalHeadroom(int forecastSeconds) {
    return Float.NaN;
  }

  public int getCurrentThermalStatus() {
    return 0;
  }
}
