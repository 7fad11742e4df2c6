// BelfryAPITests
