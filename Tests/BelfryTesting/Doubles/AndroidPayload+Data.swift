package import BelfryService

extension AndroidPayload {
    /// The data as a map, for tests that do not look at their order.
    package var dataByKey: [String: String] {
        Dictionary(data.texts.map { ($0.key, $0.text) }, uniquingKeysWith: { $1 })
    }
}
