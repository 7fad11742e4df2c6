// BelfryDeliveryTests
