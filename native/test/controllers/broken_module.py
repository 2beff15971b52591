raise RuntimeError("a module that fails when it is imported")
