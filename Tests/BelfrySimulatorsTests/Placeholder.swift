// BelfrySimulatorsTests
