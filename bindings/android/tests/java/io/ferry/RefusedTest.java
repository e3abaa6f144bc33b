// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import static io.ferry.FerryException.Status.CORRUPT;
import static io.ferry.FerryException.Status.GPU_UNAVAILABLE;
import static io.ferry.FerryException.Status.INVALID_ARGUMENT;
import static io.ferry.FerryException.Status.IO_ERROR;
import static io.ferry.FerryException.Status.MEMORY_LIMIT;
import static io.ferry.FerryException.Status.NOT_A_BLOB;
import static io.ferry.FerryException.Status.NOT_FOUND;
import static io.ferry.FerryException.Status.SHAPE_MISMATCH;
import static io.ferry.FerryException.Status.UNSUPPORTED;
import static io.ferry.Tests.blob;
import static io.ferry.Tests.bytes;
import static io.ferry.Tests.direct;
import static io.ferry.Tests.golden;
import static io.ferry.Tests.goldenInput;
import static io.ferry.Tests.near;
import static io.ferry.Tests.refused;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** Invalid arguments throw an exception with a sentence, and change nothing. */
final class RefusedTest {
  private static final String NAME = "v1_small_classifier";

  private static ByteBuffer ordered(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  public static void filesThatAreNoBlobs() throws Exception {
    refused(IO_ERROR, "absent.ferry", () -> Model.open("absent.ferry"));
    refused(NOT_A_BLOB, "", () -> Model.open(golden(NAME).replace(".ferry", ".txt")));
    refused(IllegalArgumentException.class, "NUL", () -> Model.open("a\0b"));
    byte[] blob = bytes(golden(NAME));
    for (int length : new int[] {0, 3, 64, blob.length / 2, blob.length - 1}) {
      byte[] part = Arrays.copyOf(blob, length);
      FerryException e = refused(FerryException.class, "", () -> Model.open(direct(part)));
      Tests.check(e.status() == CORRUPT || e.status() == NOT_A_BLOB, length + " bytes: " + e.status());
    }
    refused(INVALID_ARGUMENT, "0 or more", () -> Model.open(0, -1, 10));
    refused(INVALID_ARGUMENT, "0 or more", () -> Model.open(0, 0, -1));
    refused(INVALID_ARGUMENT, "fd is -1", () -> Model.open(-1, 0, 10));
    refused(IO_ERROR, "", () -> Model.open(9999, 0, 10));
  }

  public static void weightsThatWereDamaged() throws Exception {
    byte[] blob = bytes(blob("classifier"));
    int weights = (int) ByteBuffer.wrap(blob).order(ByteOrder.LITTLE_ENDIAN).getLong(32); // docs/format.md, data_offset
    try (Model model = Model.open(direct(blob))) {
      model.check();
    }
    blob[weights] ^= 1;
    try (Model model = Model.open(direct(blob))) { // opening does not read the weights
      refused(CORRUPT, "", model::check);
    }
    try (Model model = Model.open(golden(NAME))) { // written before checksums existed
      refused(NOT_FOUND, "", model::check);
    }
  }

  public static void buffersThatDoNotFit() {
    try (Model model = Model.open(golden(NAME)); Session session = model.session(new SessionOptions())) {
      session.setInput(0, goldenInput(session));
      session.run();
      float[] before = Tests.floats(session.output(0));
      refused(INVALID_ARGUMENT, "input 'input' is 768 bytes, the buffer has 767",
          () -> session.setInput(0, ordered(767)));
      refused(INVALID_ARGUMENT, "the buffer has 769", () -> session.setInput(0, ordered(769)));
      refused(IllegalArgumentException.class, "BIG_ENDIAN", () -> session.setInput(0, ByteBuffer.allocateDirect(768)));
      refused(IllegalArgumentException.class, "not a direct buffer",
          () -> session.setInput(0, ByteBuffer.allocate(768).order(ByteOrder.nativeOrder())));
      refused(INVALID_ARGUMENT, "", () -> session.setInput(1, ordered(768)));
      refused(INVALID_ARGUMENT, "", () -> session.setInput(-1, ordered(768)));
      refused(INVALID_ARGUMENT, "output 'logits' is 20 bytes, the buffer has 19", () -> session.output(0, ordered(19)));
      refused(IllegalArgumentException.class, "cannot be written",
          () -> session.output(0, ordered(20).asReadOnlyBuffer().order(ByteOrder.nativeOrder())));
      refused(IllegalArgumentException.class, "output 7", () -> session.output(7));
      refused(NOT_FOUND, "block", () -> session.tap("block"));
      refused(INVALID_ARGUMENT, "1 or more", () -> session.topClasses(0));
      refused(NullPointerException.class, "", () -> session.setFrame(null));
      session.run();
      near(before, Tests.floats(session.output(0)), 0);
    }
  }

  public static void sizesThatTheNetworkDoesNotTake() {
    try (Model model = Model.open(golden(NAME)); Session session = model.session(new SessionOptions())) {
      refused(IllegalArgumentException.class, "2 shapes were given, the network takes 1",
          () -> session.resize(new int[] {1}, new int[] {1}));
      refused(SHAPE_MISMATCH, "", () -> session.resize(new int[] {1, 8, 8, 4}));
      refused(INVALID_ARGUMENT, "6 dimensions", () -> session.resize(new int[7]));
      refused(FerryException.class, "", () -> session.resize(new int[] {1, 8, -8, 3}));
      refused(FerryException.class, "", () -> session.resize(new int[0]));
      session.run();
    }
  }

  public static void optionsThatThereAreNot() {
    try (Model model = Model.open(golden(NAME))) {
      refused(INVALID_ARGUMENT, "", () -> model.session(new SessionOptions().threads(-1)));
      refused(NOT_FOUND, "'nope'", () -> model.session(new SessionOptions().taps("nope")));
      refused(MEMORY_LIMIT, "", () -> model.session(new SessionOptions().memoryLimit(100)));
      refused(IllegalArgumentException.class, "memoryLimit is -1",
          () -> model.session(new SessionOptions().memoryLimit(-1)));
      refused(GPU_UNAVAILABLE, "", () -> model.session(new SessionOptions()
          .backend(SessionOptions.Backend.GPU).device("no such device").gpuRequired(true)));
      SessionOptions absent = new SessionOptions().device("no such device");
      refused(GPU_UNAVAILABLE, "", () -> model.audit(absent, 0));
      refused(INVALID_ARGUMENT, "gpu_watch", () -> model.session(new SessionOptions().gpuWatch(2)));
      refused(INVALID_ARGUMENT, "gpu_watch", () -> model.session(new SessionOptions().gpuWatch(Double.NaN)));
      try (Session session = model.session(new SessionOptions())) {
        refused(GPU_UNAVAILABLE, "", () -> session.checkKernels(0));
      }
      refused(NOT_FOUND, "", () -> model.graph("nope"));
      refused(NOT_FOUND, "certificate", () -> model.verify(new SessionOptions()));
    }
    try (Model model = Model.open(golden("v2_small_integers"))) {
      refused(UNSUPPORTED, "", () -> model.task(new SessionOptions()));
    }
  }

  public static void framesThatLieAboutTheirSize() {
    ByteBuffer plane = ByteBuffer.allocateDirect(64 * 48);
    ByteBuffer chroma = ByteBuffer.allocateDirect(32 * 24);
    class Yuv {
      Frame build(int width, int height, int row, int chromaRow, int pixel) {
        return new Frame.Builder(Frame.Format.YUV420, width, height)
            .plane(plane, row, 1).plane(chroma, chromaRow, pixel).plane(chroma, chromaRow, pixel).build();
      }
    }
    Yuv yuv = new Yuv();
    yuv.build(64, 48, 64, 32, 1);
    refused(INVALID_ARGUMENT, "", () -> yuv.build(64, 48, 63, 32, 1)); // rows overlap
    refused(INVALID_ARGUMENT, "", () -> yuv.build(64, 48, 65, 32, 1)); // beyond the plane
    refused(INVALID_ARGUMENT, "", () -> yuv.build(64, 48, 64, 32, 2)); // beyond chroma
    refused(INVALID_ARGUMENT, "", () -> yuv.build(64, 48, -64, 32, 1));
    refused(INVALID_ARGUMENT, "", () -> yuv.build(0, 48, 64, 32, 1));
    refused(INVALID_ARGUMENT, "", () -> yuv.build(1 << 30, 1 << 30, 0, 0, 0));
    refused(INVALID_ARGUMENT, "", () -> new Frame.Builder(Frame.Format.NV21, 64, 48).plane(plane, 0, 0).build());
    refused(INVALID_ARGUMENT, "",
        () -> new Frame.Builder(Frame.Format.GRAY, 8, 8).plane(plane, 0, 0).rotation(45).build());
    refused(INVALID_ARGUMENT, "",
        () -> new Frame.Builder(Frame.Format.GRAY, 8, 8).plane(plane, 0, 0).crop(4, 4, 8, 8).build());
    refused(IllegalArgumentException.class, "plane 0 is not a direct buffer",
        () -> new Frame.Builder(Frame.Format.GRAY, 8, 8).plane(ByteBuffer.allocate(64), 0, 0));
    refused(IllegalArgumentException.class, "at most 3 planes", () -> new Frame.Builder(Frame.Format.YUV420, 8, 8)
        .plane(plane, 0, 0).plane(plane, 0, 0).plane(plane, 0, 0).plane(plane, 0, 0));
  }

  public static void imagesAndPromptsThatDoNotFit() {
    refused(IllegalArgumentException.class, "is 300 bytes, the buffer has 299",
        () -> new Image(10, 10, ByteBuffer.allocateDirect(299)));
    refused(IllegalArgumentException.class, "", () -> new Image(1 << 30, 1 << 30, ByteBuffer.allocateDirect(299)));
    refused(IllegalArgumentException.class, "", () -> new Image(0, 5, ByteBuffer.allocateDirect(299)));
    refused(IO_ERROR, "absent.png", () -> Image.load("absent.png"));
    refused(FerryException.class, "", () -> Image.decode(ByteBuffer.allocateDirect(100)));
    Image image = new Image(20, 10, ByteBuffer.allocateDirect(600));
    refused(IO_ERROR, "", () -> image.savePng("/absent/image.png"));
    ask("painter", "no mask", Request.of(image));
    ask("painter", "one size", Request.of(image).mask(new Image(10, 10, ByteBuffer.allocateDirect(300))));
    ask("masks", "", Request.of(image));
    ask("masks", "", Request.of(image).point(500, 1));
    ask("masks", "", Request.of(image).point(Float.NaN, 1));
    ask("masks", "", Request.again().point(1, 1)); // there is no last image
    ask("depth", "", Request.again());
    ask("classifier", "", Request.of(image).top(-1));
    Frame frame = new Frame.Builder(Frame.Format.RGB, 20, 10).plane(image.memory(), 0, 0).build();
    for (String whole : new String[] {"upscaler", "painter", "reader"}) {
      ask(whole, "", Request.of(frame)); // tasks that need RGB pixels
    }
  }

  public static void statesAndCpusThatDoNotFit() {
    try (Model model = Model.open(golden(NAME)); Model language = Model.open(blob("language"));
         Model same = Model.open(blob("language")); States states = language.states()) {
      SessionOptions options = new SessionOptions().states(states);
      refused(INVALID_ARGUMENT, "another model", () -> model.session(options));
      refused(INVALID_ARGUMENT, "another model", () -> same.session(options)); // a blob with other weights
      refused(NOT_FOUND, "no states", () -> model.session(new SessionOptions()).states());
      refused(INVALID_ARGUMENT, "-1", () -> states.truncate(-1));
      refused(IllegalArgumentException.class, "there are 4", () -> states.contents(4));
      refused(IllegalArgumentException.class, "there are 4", () -> states.contents(-1));
      refused(IllegalArgumentException.class, "CPU -1", () -> new SessionOptions().cpus(0, -1));
      refused(IllegalArgumentException.class, "0 to 1023", () -> new SessionOptions().cpus(1024));
      refused(INVALID_ARGUMENT, "", () -> model.session(new SessionOptions().cpus(1023)));
    }
  }

  private static void ask(String blob, String words, Request request) {
    try (Model model = Model.open(blob(blob)); Task task = model.task(new SessionOptions())) {
      refused(FerryException.class, words, () -> task.run(request));
    }
  }

  public static void useAfterClose() {
    Model model = Model.open(golden(NAME));
    Session session = model.session(new SessionOptions().allTaps(true));
    States states;
    Session remembering;
    try (Model language = Model.open(blob("language"))) {
      states = language.states();
      remembering = language.session(new SessionOptions().states(states));
    }
    Task task = model.task(new SessionOptions());
    model.close();
    model.close();
    session.run(); // it keeps the model alive
    ByteBuffer input = goldenInput(session);
    Frame frame = new Frame.Builder(Frame.Format.GRAY, 8, 8).plane(ByteBuffer.allocateDirect(64), 0, 0).build();
    Image image = new Image(1, 1, ByteBuffer.allocateDirect(3));
    session.close();
    session.close();
    task.close();
    Tests.Action[] ofSession = {session::run, session::cancel, session::inputs, session::outputs, session::report,
        () -> session.setInput(0, input), () -> session.output(0), () -> session.output(0, ordered(20)),
        () -> session.tap("block"), () -> session.topClasses(1), () -> session.setFrame(frame),
        () -> session.setImage(image), () -> session.resize(new int[] {1, 8, 8, 3})};
    for (Tests.Action action : ofSession) refused(IllegalStateException.class, "this session is closed", action);
    Tests.Action[] ofTask = {task::cancel, task::report, () -> task.run(Request.of(frame))};
    for (Tests.Action action : ofTask) refused(IllegalStateException.class, "this task is closed", action);
    Tests.Action[] ofModel = {model::inputs, model::check, () -> model.graph("x"),
        () -> model.session(new SessionOptions()), () -> model.task(new SessionOptions()), model::states,
        () -> model.verify(new SessionOptions())};
    for (Tests.Action action : ofModel) refused(IllegalStateException.class, "this model is closed", action);
    states.close();
    states.close();
    Tests.equal(0, remembering.stateLength()); // the session keeps them open
    try (Model language = Model.open(blob("language"))) {
      SessionOptions options = new SessionOptions().states(states);
      Tests.Action[] ofStates = {states::length, states::bound, states::bytes, states::tensors, states::reset,
          () -> states.contents(0), () -> states.reserve(1), () -> states.truncate(0), () -> states.save("x"),
          () -> states.load("x"), () -> language.session(options)};
      for (Tests.Action action : ofStates) refused(IllegalStateException.class, "this states object is closed", action);
    }
    remembering.close();
    refused(IllegalStateException.class, "this session is closed", remembering::states);
  }
}
