/* The programs and header examples that examples_test.cc runs. Each returns 0 where all went well. */
#ifndef FERRY_TESTS_RUNTIME_EXAMPLES_H_
#define FERRY_TESTS_RUNTIME_EXAMPLES_H_

struct ferry_session;
struct ferry_model;

#if defined(__cplusplus)
extern "C" {
#endif
int ferry_h_example(void);                          /* opens resnet50.ferry */
int image_h_example(struct ferry_session* session); /* loads photo.jpg */
int task_h_example(struct ferry_model* model);      /* loads photo.jpg, writes depth.png */
int text_h_example(struct ferry_model* model);
int classify_main(int argc, char** argv);
int chat_main(int argc, char** argv);    /* reads lines from stdin */
int segment_main(int argc, char** argv); /* reads points from stdin */
#if defined(__cplusplus)
}
int text_hpp_example();   // opens stories.ferry
int ferry_hpp_example();  // opens squeezenet.ferry and photo.png
int upscale_main(int argc, char** argv);
int cutout_main(int argc, char** argv);

// For tests of ferry.hpp, which cannot include the headers that make blobs.
void write_classifier(const char* path);
#endif
#endif
