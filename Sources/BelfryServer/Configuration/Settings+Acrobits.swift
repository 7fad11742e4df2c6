import BelfryService

extension ServerConfiguration {
    /// The address of another mediator, without the paths that it has.
    static func mediatorRelayURL(_ settings: Settings) -> String? {
        guard let url = settings.optionalString("acrobits.relay.url"), !url.isEmpty else { return nil }
        guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
            settings.note("acrobits.relay.url is `\(url.quotable)`, it has to be https://host")
            return nil
        }
        return url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}
