// BelfryStoreTests
