"""Source C, Lohmayer: exergetic port-Hamiltonian multibody systems."""
