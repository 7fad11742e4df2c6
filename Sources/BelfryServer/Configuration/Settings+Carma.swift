import BelfryAPI

extension Carma.Options {
    init(_ settings: Settings) {
        self.init(publicURL: nil, isSecure: settings.optionalString("http.tls.certificate") != nil)
        guard let url = settings.optionalString("carma.public.url"), !url.isEmpty else { return }
        guard url.hasPrefix("https://") || url.hasPrefix("http://") else {
            settings.note("carma.public.url is `\(url)`, it has to be https://host")
            return
        }
        publicURL = url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}
