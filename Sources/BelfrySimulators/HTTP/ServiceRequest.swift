/// A request of any version of HTTP.
package struct ServiceRequest: Sendable {
    package struct Field: Sendable, Equatable {
        /// The name in lower case.
        package var name: String
        package var value: String
    }

    /// More than any provider accepts, a thousand tokens and their message included.
    static let bodyBytesMax = 4 * 1024 * 1024

    package var method: String
    /// The path without the query.
    package var path: String
    package var query: [String: String]
    /// The fields without pseudo-header fields.
    package var fields: [Field]
    /// `:authority` or `host`.
    package var authority: String?
    package var body: [UInt8]
    package var isHTTP2: Bool

    init(method: String, target: String, fields: [Field], authority: String?, body: [UInt8], isHTTP2: Bool) {
        let cut = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        self.method = method
        self.path = cut.map { String(target[..<$0]) } ?? target
        self.query = cut.map { FormText.read(target[target.index(after: $0)...]) } ?? [:]
        self.fields = fields
        self.authority = authority
        self.body = body
        self.isHTTP2 = isHTTP2
    }

    /// The value of a field; the first if it is repeated.
    func field(_ name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    func values(of name: String) -> [String] {
        fields.filter { $0.name == name }.map(\.value)
    }

    /// The media type without its parameters, in lower case.
    var mediaType: String? {
        field("content-type").map { Words.trim($0.prefix { $0 != ";" }).lowercased() }
    }

    /// The token after `Bearer`, which is not case-sensitive.
    var bearer: String? { credentials(of: "bearer") }

    func credentials(of scheme: String) -> String? {
        guard let value = field("authorization") else { return nil }
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == scheme else { return nil }
        return String(parts[1])
    }

    var isForm: Bool { mediaType == "application/x-www-form-urlencoded" }

    var form: [String: String] { FormText.read(Substring(decoding: body, as: UTF8.self)) }

    /// The path split at its slashes.
    var segments: [String] { path.split(separator: "/").map { FormText.decode($0, plusIsSpace: false) } }
}
