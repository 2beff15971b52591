"""Source A, Rashad: the port-Hamiltonian structure of vehicle-manipulator systems."""
