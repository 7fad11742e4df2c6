import HTTPTypes
import Hummingbird

/// Tells browsers and caches not to sniff, frame or store API responses.
///
/// Source: OWASP REST Security Cheat Sheet, "Security Headers".
struct SecurityHeaders: Sendable {
    private let headers: HTTPFields

    /// - Parameter isSecure: whether the listener speaks TLS. Browsers are then told never to use plain HTTP.
    init(isSecure: Bool) {
        var headers: HTTPFields = [
            .xContentTypeOptions: "nosniff",
            .contentSecurityPolicy: "default-src 'none'; frame-ancestors 'none'",
            .xFrameOptions: "DENY",
            .referrerPolicy: "no-referrer",
        ]
        if isSecure { headers[.strictTransportSecurity] = "max-age=63072000" }
        self.headers = headers
    }

    func add(to response: inout Response) {
        if !response.headers.contains(.cacheControl) {
            response.headers.append(HTTPField(name: .cacheControl, value: "no-store"))
        }
        // A page that is shown to people brings a policy of its own.
        for header in headers where !response.headers.contains(header.name) { response.headers.append(header) }
    }
}
