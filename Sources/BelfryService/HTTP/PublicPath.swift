import HTTPTypes
package import Hummingbird

/// The path of the public URL, such as `/push`; empty where the server has its host for itself.
///
/// No handler and no stored address knows it. It is taken from requests before they are routed, so that a proxy may pass it on or take
/// it away, and stands before every address of the server's own that a page or a header names. The admin API names addresses below the
/// public URL.
package struct PublicPath: Sendable, Hashable {
    /// Begins with a slash and ends without one, or is empty.
    package let text: String

    package init(of url: String?) {
        let parts = (url ?? "").split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        let path = parts.count > 3 ? parts[3].split(separator: "/").joined(separator: "/") : ""
        text = path.isEmpty ? "" : "/" + path
    }

    /// The path that is routed: without the public one, and with each octet that needs no percent-encoding decoded. Readers of a part
    /// decode the rest of it once. nil where it is the path that was asked for.
    ///
    /// Source: RFC 3986 §6.2.2.2.
    package func routed(_ target: String) -> String? {
        let bytes = target.utf8
        let isEncoded = bytes.contains(UInt8(ascii: "%"))
        guard isEncoded || !text.isEmpty else { return nil }
        let end = bytes.firstIndex { $0 == UInt8(ascii: "?") } ?? bytes.endIndex
        let path = isEncoded ? Self.normalized(bytes[..<end]) : Array(bytes[..<end])
        let own = Array(text.utf8)
        let isBelow =
            !own.isEmpty && path.starts(with: own) && (path.count == own.count || path[own.count] == UInt8(ascii: "/"))
        var routed = isBelow ? Array(path.dropFirst(own.count)) : path
        if routed.isEmpty { routed = [UInt8(ascii: "/")] }
        return String(decoding: routed + bytes[end...], as: UTF8.self)
    }

    /// A percent sign that encodes nothing is encoded itself: decoding makes one of it, and never a second octet.
    private static func normalized(_ path: Substring.UTF8View.SubSequence) -> [UInt8] {
        let path = Array(path)
        var written: [UInt8] = []
        written.reserveCapacity(path.count)
        var index = 0
        while index < path.count {
            guard path[index] == UInt8(ascii: "%") else {
                written.append(path[index])
                index += 1
                continue
            }
            let digits = path[(index + 1)...].prefix(2)
            guard digits.count == 2, let octet = [UInt8](hex: digits)?.first else {
                written += "%25".utf8
                index += 1
                continue
            }
            if octet.isUnreserved { written.append(octet) } else { written += [UInt8(ascii: "%")] + digits }
            index += 3
        }
        return written
    }

    /// An address of the server's own as browsers have to ask for it.
    package func browsers(_ address: String) -> String {
        address.utf8.first == UInt8(ascii: "/") && !address.utf8.starts(with: "//".utf8) ? text + address : address
    }
}

/// Routes requests by their path below the public one, and sends browsers back below it.
package struct PublicPathResponder<Next: HTTPResponder>: HTTPResponder where Next.Context: Sendable {
    private let path: PublicPath
    private let next: Next

    package init(_ next: Next, below path: PublicPath = PublicPath(of: nil)) {
        self.next = next
        self.path = path
    }

    package func respond(to request: Request, context: Next.Context) async throws -> Response {
        guard let target = request.head.path, let routed = path.routed(target) else {
            return try await next.respond(to: request, context: context)
        }
        var head = request.head
        head.path = routed
        var response = try await next.respond(to: Request(head: head, body: request.body), context: context)
        if !path.text.isEmpty, let location = response.headers[.location] {
            response.headers[.location] = path.browsers(location)
        }
        return response
    }
}
