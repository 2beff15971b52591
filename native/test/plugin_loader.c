// Copyright The vms_ph authors
// SPDX-License-Identifier: Apache-2.0

/* A program that knows nothing of Python, and loads and unloads a plugin that does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc != 2 || dlsym(RTLD_DEFAULT, "Py_IsInitialized") != NULL) return 1;
  for (int k = 0; k < 3; ++k) {
    void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    void (*control)(void);
    *(void**)&control = dlsym(plugin, "control");
    control();
    dlclose(plugin);
    if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != NULL) {
      fprintf(stderr, "the plugin was not unloaded\n");
      return 1;
    }
  }
  return 0;
}
