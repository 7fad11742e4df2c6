// BelfrySimulators
