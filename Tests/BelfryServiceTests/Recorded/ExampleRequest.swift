import BelfryService

/// How the callers of the examples write their requests.
enum ExampleRequest {
    /// The times of the examples lie between 2012 and 2016.
    static let then = Instant(milliseconds: 1_343_779_200_000)

    static func sent(_ line: String, _ credentials: String, _ body: String) -> String {
        request(
            "\(line) HTTP/1.1", "Host: push.example.com", "Authorization: Basic \(credentials)",
            "Content-Type: application/json", "Content-Length: \(body.utf8.count)", body: body)
    }

    static func asked(_ line: String, _ credentials: String) -> String {
        request("\(line) HTTP/1.1", "Host: push.example.com", "Authorization: Basic \(credentials)")
    }
}
