// BelfryDelivery
