"""Source D, Califano: the task-space port-Hamiltonian form."""
