// The program of the Python wheel, whose code is in the library beside it (src/cli/main.cpp).
extern "C" int ridgeline_program(int argc, char** argv);

int main(int argc, char** argv) {
  return ridgeline_program(argc, argv);
}
