// SPDX-License-Identifier: Apache-2.0
package io.ferry;

import static io.ferry.Tests.blob;
import static io.ferry.Tests.bytes;
import static io.ferry.Tests.direct;
import static io.ferry.Tests.equal;
import static io.ferry.Tests.floats;
import static io.ferry.Tests.golden;
import static io.ferry.Tests.goldenInput;
import static io.ferry.Tests.goldenNumbers;
import static io.ferry.Tests.near;

import java.io.File;
import java.io.FileOutputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/** Models compute the oracle's results, in every way of opening them. */
final class SessionTest {
  private static final String NAME = "v1_small_classifier";

  private static float[] run(Model model) {
    try (Model closed = model; Session session = closed.session(new SessionOptions())) {
      session.setInput(0, goldenInput(session));
      session.run();
      return floats(session.output(0));
    }
  }

  public static void pathsAndBuffersHoldTheSameModel() throws Exception {
    float[] expected = goldenNumbers(NAME, "logits");
    near(expected, run(Model.open(golden(NAME))), 1e-5);
    byte[] blob = bytes(golden(NAME));
    near(expected, run(Model.open(ByteBuffer.wrap(blob))), 1e-5);
    for (int offset = 0; offset < 64; offset += 13) { // aligned by chance at most once
      ByteBuffer within = ByteBuffer.allocateDirect(blob.length + 64);
      within.position(offset);
      within.put(blob);
      within.limit(within.position()).position(offset);
      near(expected, run(Model.open(within)), 1e-5);
      equal(offset, within.position());
    }
    try (RandomAccessFile file = new RandomAccessFile(golden(NAME), "r")) {
      ByteBuffer mapped = file.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, file.length());
      near(expected, run(Model.open(mapped)), 1e-5);
    }
  }

  public static void anUncompressedAssetIsOpenedInPlace() throws Exception {
    byte[] blob = bytes(golden(NAME));
    File apk = File.createTempFile("ferry", ".apk");
    try {
      String name = "assets/m.ferry";
      try (ZipOutputStream zip = new ZipOutputStream(new FileOutputStream(apk))) {
        ZipEntry entry = new ZipEntry(name);
        entry.setMethod(ZipEntry.STORED);
        entry.setSize(blob.length);
        CRC32 crc = new CRC32();
        crc.update(blob);
        entry.setCrc(crc.getValue());
        zip.putNextEntry(entry);
        zip.write(blob);
      }
      Model model;
      try (RandomAccessFile file = new RandomAccessFile(apk, "r")) {
        model = Model.open(Tests.number(file), 30 + name.length(), blob.length);
      }
      near(goldenNumbers(NAME, "logits"), run(model), 1e-5); // after the file was closed
    } finally {
      apk.delete();
    }
  }

  public static void aModelSaysWhatItIs() {
    try (Model model = Model.open(golden(NAME)); Model two = Model.open(golden("v2_small_transformer"))) {
      equal("small_classifier", model.name());
      equal("classification", model.taskName());
      equal(Arrays.asList("barge", "ferry", "kayak", "liner", "raft"), model.labels());
      equal("[input: FLOAT32 [1, 8, 8, 3]]", model.inputs().toString());
      equal("[logits: FLOAT32 [1, 5]]", model.outputs().toString());
      equal(3, model.taps().size());
      equal(true, model.inputs().get(0).channelsFirst());
      equal(768L, model.inputs().get(0).bytes());
      equal(Arrays.asList("small_transformer", "states"), two.graphs());
      try (Model other = two.graph("states"); Model integers = Model.open(golden("v2_small_integers"))) {
        equal(two.graphs().size(), other.graphs().size());
        equal(TensorInfo.Type.INT32, integers.inputs().get(0).type());
      }
    }
    equal(3, Ferry.version().split("\\.").length);
  }

  public static void tapsAndTheBestClassesAreRead() {
    try (Model model = Model.open(golden(NAME)); Session session = model.session(new SessionOptions().taps("pooled"))) {
      session.setInput(0, goldenInput(session));
      session.run();
      float[] logits = floats(session.output(0));
      equal(model.taps().get(2).bytes(), (long) session.tap("pooled").remaining());
      float[] sorted = logits.clone();
      Arrays.sort(sorted);
      double sum = 0;
      for (float logit : logits) sum += Math.exp(logit);
      Answer.Classification best = session.topClasses(100).get(0);
      equal(5, session.topClasses(100).size());
      equal(sorted[4], logits[best.index()]);
      near(Math.exp(sorted[4]) / sum, best.probability(), 1e-6);
      equal(model.labels().get(best.index()), best.label());
      ByteBuffer room = ByteBuffer.allocateDirect(64).order(ByteOrder.nativeOrder());
      room.position(8);
      session.output(0, room);
      equal(logits[4], room.getFloat(8 + 16));
    }
  }

  public static void aBatchHasAPlaceForEachImageAndAnAnswerOfEach() {
    Image[] images = new Image[3];
    for (int i = 0; i < 3; ++i) {
      ByteBuffer pixels = ByteBuffer.allocateDirect(3 * 30 * 40);
      for (int k = 0; k < pixels.capacity(); ++k) pixels.put(k, (byte) (k * (7 + 30 * i) + k / 90 * 11));
      images[i] = new Image(40, 30, pixels);
    }
    for (String name : new String[] {"classifier", "embedder"}) {
      boolean classes = name.equals("classifier");
      try (Model model = Model.open(blob(name)); Session session = model.session(new SessionOptions())) {
        float[][] expected = new float[3][];
        for (int i = 0; i < 3; ++i) {
          session.setImage(images[i]);
          session.run();
          expected[i] = classes ? probabilities(session.topClasses(5)) : session.embedding(0);
        }
        Tests.check(!Arrays.equals(expected[0], expected[1]), "they differ");
        int[] shape = session.inputs().get(0).shape();
        shape[0] = 3;
        session.resize(shape);
        for (int i : new int[] {2, 0, 1}) session.setImage(i, images[i]);
        session.run();
        for (int i = 0; i < 3; ++i) {
          near(expected[i], classes ? probabilities(session.topClasses(i, 5)) : session.embedding(i), 1e-5);
        }
        FerryException.Status invalid = FerryException.Status.INVALID_ARGUMENT;
        Tests.refused(invalid, "", () -> session.setImage(images[0]));
        Tests.refused(invalid, "", () -> session.setImage(3, images[0]));
        Tests.refused(invalid, "", () -> session.embedding(classes ? 0 : 3));
        if (classes) Tests.refused(invalid, "", () -> session.topClasses(5));
        if (classes) Tests.refused(invalid, "", () -> session.topClasses(3, 5));
        Tests.refused(IllegalArgumentException.class, "begins with 0", () -> session.topClasses(-1, 5));
      }
    }
  }

  private static float[] probabilities(List<Answer.Classification> classes) {
    float[] out = new float[5];
    for (Answer.Classification c : classes) out[c.index()] = c.probability();
    return out;
  }

  public static void statesHaveFewerBits() {
    try (Model model = Model.open(blob("language"))) {
      long[] bytes = new long[SessionOptions.StateType.values().length];
      for (SessionOptions.StateType type : SessionOptions.StateType.values()) {
        try (Session session = model.session(new SessionOptions().stateType(type))) {
          float[] logits = run(session, 1, 5, 9);
          equal(3, session.stateLength());
          for (float logit : logits) Tests.check(Float.isFinite(logit), "a logit is not finite");
          try (States states = session.states()) {
            bytes[type.ordinal()] = states.bytes();
          }
        }
      }
      equal(bytes[0], 2 * bytes[1]);
      Tests.check(bytes[2] < bytes[1], "8 bits take more than 16");
    }
    try (Model model = Model.open(golden("v2_small_transformer"))) {
      SessionOptions options = new SessionOptions().stateType(SessionOptions.StateType.FLOAT16);
      Tests.refused(FerryException.Status.UNSUPPORTED, "no state", () -> model.session(options));
    }
  }

  public static void statesRememberRunsAndGoToAFile() throws Exception {
    File file = File.createTempFile("ferry", ".states");
    try (Model model = Model.open(blob("language")); Session session = model.session(new SessionOptions());
         Session other = model.session(new SessionOptions())) {
      equal(0, session.stateLength());
      run(session, 1, 5, 9);
      equal(3, session.stateLength());
      session.saveStates(file.getPath());
      float[] expected = run(session, 7);
      other.loadStates(file.getPath());
      equal(3, other.stateLength());
      near(expected, run(other, 7), 1e-5);
      other.truncateStates(3);
      near(expected, run(other, 7), 1e-5);
      other.truncateStates(0);
      Tests.check(!Arrays.equals(expected, run(other, 7)), "nothing was remembered");
      Tests.refused(FerryException.Status.INVALID_ARGUMENT, "", () -> other.truncateStates(-1));
      Files.write(file.toPath(), new byte[100]);
      Tests.refused(FerryException.Status.CORRUPT, file.getName(), () -> other.loadStates(file.getPath()));
      equal(1, other.stateLength());
      Tests.refused(FerryException.Status.IO_ERROR, "/absent/", () -> other.saveStates("/absent/states"));
    } finally {
      file.delete();
    }
    try (Model model = Model.open(golden(NAME)); Session session = model.session(new SessionOptions())) {
      Tests.refused(FerryException.Status.NOT_FOUND, "", session::stateLength);
    }
  }

  public static void sessionsShareStates() throws Exception {
    try (Model model = Model.open(blob("language")); Session alone = model.session(new SessionOptions())) {
      States states = model.states();
      SessionOptions options = new SessionOptions().states(states).threads(1);
      Session prefill = model.session(options);
      Session decode = model.session(options);
      run(alone, 1, 5, 9);
      float[] expected = run(alone, 7);
      long before = states.bytes();
      states.reserve(10);
      long bytes = states.bytes();
      Tests.check(bytes > before, "no memory was taken");
      run(prefill, 1, 5, 9);
      prefill.close();
      equal(3, states.length());
      equal(3, decode.stateLength());
      near(expected, run(decode, 7), 1e-5);
      equal(4, states.length());
      equal(bytes, states.bytes());
      Tests.check(states.bound() >= 10, "bound " + states.bound());
      try (States own = alone.states()) {
        List<TensorInfo> tensors = states.tensors();
        equal(own.tensors().toString(), tensors.toString());
        for (int i = 0; i < tensors.size(); ++i) {
          equal(tensors.get(i).bytes(), (long) states.contents(i).remaining());
          near(floats(own.contents(i)), floats(states.contents(i)), 1e-5);
        }
      }
      states.truncate(3);
      near(expected, run(decode, 7), 1e-5);
      states.reset();
      equal(0, decode.stateLength());
      equal(0, states.contents(0).remaining());
      states.close();
      run(decode, 1, 5, 9);
      near(expected, run(decode, 7), 1e-5); // which keeps them open
      decode.close();
    }
  }

  private static float[] run(Session session, int... tokens) {
    session.resize(new int[] {1, tokens.length});
    ByteBuffer ids = session.inputs().get(0).allocate();
    for (int i = 0; i < tokens.length; ++i) ids.putInt(4 * i, tokens[i]);
    session.setInput(0, ids);
    session.run();
    return floats(session.output(0));
  }

  public static void everyOperatorIsTimed() {
    SessionOptions options = new SessionOptions().profile(true);
    try (Model model = Model.open(golden(NAME)); Session session = model.session(options);
         Session plain = model.session(options.profile(false))) {
      session.setInput(0, goldenInput(session));
      session.run();
      List<OperatorTime> times = session.profile();
      equal(session.report().cpuOperators(), times.size());
      for (OperatorTime time : times) {
        equal("cpu", time.backend());
        Tests.check(time.microseconds() >= 0 && !time.operator().isEmpty() && time.shape().length > 0, "" + time);
      }
      plain.setInput(0, goldenInput(plain));
      plain.run();
      equal(0, plain.profile().size());
    }
  }

  public static void anotherSizeIsTaken() {
    try (Model model = Model.open(blob("upscaler")); Session session = model.session(new SessionOptions())) {
      session.resize(new int[] {1, 20, 30, 3});
      equal("[1, 40, 60, 3]", Arrays.toString(session.outputs().get(0).shape()));
      session.setInput(0, session.inputs().get(0).allocate());
      session.run();
      equal(40 * 60 * 3 * 4, session.output(0).remaining());
    }
  }

  public static void aSessionSaysWhereItRuns() {
    SessionOptions options = new SessionOptions().threads(2).cores(SessionOptions.Cores.ALL);
    try (Model model = Model.open(golden(NAME)); Session session = model.session(options);
         Session other = model.session(options.backend(SessionOptions.Backend.GPU).device("no such device"))) {
      Report report = session.report();
      equal(SessionOptions.Backend.CPU, report.backend());
      equal(2, report.threads());
      equal("", report.message());
      Tests.check(report.arenaBytes() > 5000 && report.cpuOperators() > 0, "what it takes");
      equal(SessionOptions.Backend.CPU, other.report().backend());
      Tests.check(!other.report().message().isEmpty(), "why it is not the GPU");
    }
  }

  public static void aSessionKeepsToTheCpusThatAreNamed() {
    try (Model model = Model.open(golden(NAME)); Session any = model.session(new SessionOptions())) {
      String first = any.report().cpus().split("[-,]")[0];
      if (first.isEmpty()) return; // the system does not report them
      int cpu = Integer.parseInt(first);
      try (Session session = model.session(new SessionOptions().cpus(cpu, 1023))) {
        equal(first, session.report().cpus());
        equal(1, session.report().threads());
        session.setInput(0, goldenInput(session));
        session.run();
      }
    }
  }

  public static void aGpuComputesWhatTheCpuDoes() throws Exception {
    SessionOptions options = new SessionOptions().backend(SessionOptions.Backend.GPU);
    try (Model model = Model.open(golden(NAME)); Session session = model.session(options)) {
      Report report = session.report();
      if (report.backend() != SessionOptions.Backend.GPU) {
        System.out.println("without a GPU: " + report.message());
        return;
      }
      session.setInput(0, goldenInput(session));
      session.run();
      near(goldenNumbers(NAME, "logits"), floats(session.output(0)), 1e-4);
      Tests.check(!report.device().isEmpty() && report.gpuOperators() > 0, "which GPU it is");
    }
  }

  public static void aGpuIsCheckedAndWatched() throws Exception {
    SessionOptions options = new SessionOptions().backend(SessionOptions.Backend.GPU).gpuWatch(1);
    try (Model model = Model.open(golden(NAME)); Session session = model.session(options)) {
      if (session.report().backend() != SessionOptions.Backend.GPU) {
        System.out.println("without a GPU: " + session.report().message());
        return;
      }
      session.setInput(0, goldenInput(session));
      equal(0L, session.report().watchedRuns());
      for (int i = 0; i < 40; ++i) session.run();
      Tests.check(session.report().watchedRuns() > 0, "no run was watched");
      near(goldenNumbers(NAME, "logits"), floats(session.output(0)), 1e-4);
      KernelCheck check = session.checkKernels(0);
      Tests.check(check.kernels() > 0 && check.replays() >= 128L * check.kernels(), "every kernel is replayed");
      equal(check.kernels(), check.checked());
      equal(0, check.failures());
      equal(0L, session.checkKernels(1).replays()); // each has a verdict
      Audit audit = model.audit(new SessionOptions(), 0);
      Tests.check(audit.passed() && audit.lost().isEmpty() && !audit.device().isEmpty(), "it passes");
      long runs = 0;
      for (Audit.Operator operator : audit.operators()) {
        runs += operator.runs();
        equal(0L, operator.differed());
        equal("", operator.problem());
        Tests.check(operator.compared() && operator.error() <= 1 && operator.shape().startsWith("["), "what it is");
      }
      equal(runs, audit.runs());
      Tests.check(runs > 0, "kernels ran");
    }
  }

  public static void textOfAFileIsPrintedWithoutControlCharacters() throws Exception {
    equal("a\\nb\\x1b[2J\\u202e", Ferry.printable("a\nb\033[2J\u202e", false));
    equal("a\n\tb[2J", Ferry.printable("a\n\tb\033[2J\u202e", true));
    equal("d\u00e9j\u00e0 \ud83d\ude00 \ufffd", Ferry.printable("d\u00e9j\u00e0 \ud83d\ude00 \0", false));
    equal("", Ferry.printable("", true));
    // A blob whose input's name has an escape sequence.
    byte[] blob = bytes(golden(NAME));
    byte[] name = {'i', 'n', 'p', 'u', 't', 0};
    for (int i = 0; i + name.length <= blob.length; ++i) {
      if (Arrays.equals(Arrays.copyOfRange(blob, i, i + name.length), name)) blob[i + 1] = 27;
    }
    try (Model model = Model.open(ByteBuffer.wrap(blob))) {
      equal("i\033put", model.inputs().get(0).name());
      equal("i\\x1bput: FLOAT32 [1, 8, 8, 3]", model.inputs().get(0).toString());
    }
  }

  public static void damagedWeightsAreFound() throws Exception {
    try (Model model = Model.open(blob("classifier"))) {
      model.finishCheck();
    }
    byte[] blob = bytes(blob("classifier"));
    for (int at = blob.length - 400; at < blob.length - 64; ++at) blob[at] ^= 4; // its last constants
    try (Model model = Model.open(ByteBuffer.wrap(blob))) {
      Tests.refused(FerryException.Status.CORRUPT, "does not have the checksum", () -> model.finishCheck());
    }
  }

  public static void sessionsKeepTheBufferOfTheirModel() throws Exception {
    float[] expected = goldenNumbers(NAME, "logits");
    Session session;
    try (Model model = Model.open(direct(bytes(golden(NAME))))) {
      session = model.session(new SessionOptions());
    }
    for (int i = 0; i < 3; ++i) {
      System.gc();
      ByteBuffer.allocateDirect(1 << 20).put(new byte[1 << 20]);
    }
    try (Session kept = session) {
      kept.setInput(0, goldenInput(kept));
      kept.run();
      near(expected, floats(kept.output(0)), 1e-5);
    }
  }

  public static void textsAreUnicode() throws Exception {
    File file = File.createTempFile("f\u00e4hre \ud83d\udea2 ", ".ferry");
    Files.write(file.toPath(), bytes(golden(NAME)));
    try {
      run(Model.open(file.getPath()));
    } finally {
      file.delete();
    }
    Tests.refused(FerryException.Status.IO_ERROR, "\u00e4\ud83d\udea2", () -> Model.open("/absent/\u00e4\ud83d\udea2"));
  }
}
