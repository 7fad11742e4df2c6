import BelfryAPI
import BelfryCore

extension ServerAddress {
    /// Of the main listener. `http.hosts`, default none: names by which clients reach it, beside those of this machine.
    init(_ settings: Settings) {
        self.init(
            hosts: Set(settings.words("http.hosts").map { $0.lowercased() }),
            isSecure: settings.optionalString("http.tls.certificate") != nil)
    }
}

extension Carma.Options {
    init(_ settings: Settings) {
        self.init(address: ServerAddress(settings))
        guard let url = settings.optionalString("carma.public.url"), !url.isEmpty else { return }
        guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
            settings.note("carma.public.url is `\(url.quotable)`, it has to be https://host")
            return
        }
        address.publicURL = url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}
