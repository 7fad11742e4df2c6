// BelfryServerTests
