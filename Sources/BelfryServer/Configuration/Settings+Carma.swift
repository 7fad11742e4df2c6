import BelfryAPI
import BelfryService

extension ServerAddress {
    /// Reads the address of the main listener: `public.url`, by default the host that the caller names, if it can be believed; and
    /// `http.hosts`, by default none, names by which clients reach the server beside those of this machine.
    init(_ settings: Settings) {
        self.init(
            publicURL: settings.publicURL(),
            hosts: Set(settings.words("http.hosts").map { $0.lowercased() }),
            isSecure: settings.optionalString("http.tls.certificate") != nil)
    }
}

extension Carma.Options {
    init(_ settings: Settings) {
        self.init(address: ServerAddress(settings))
        address.publicURL = settings.publicURL("carma.public.url") ?? address.publicURL
    }
}
