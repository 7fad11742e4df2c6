import BelfryService
import FoundationEssentials

/// `https://host` or `https://host:port`.
struct Origin {
    let host: String
    let port: Int

    init(_ text: String, field: String) throws(InvalidInput) {
        guard let url = URL(string: text), url.scheme == "https", let host = url.host(), url.path().count <= 1,
            url.query() == nil, 1...65_535 ~= url.port ?? 443
        else {
            throw InvalidInput(field: field, "is `\(text.quotable)`, it has to be https://host or https://host:port")
        }
        self.host = host
        port = url.port ?? 443
    }

    /// The URL, without a slash at its end.
    var text: String { port == 443 ? "https://\(host)" : "https://\(host):\(port)" }
}
