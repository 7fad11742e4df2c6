import HTTPTypes
package import Hummingbird
import Logging
import Metrics
import NIOCore
import Synchronization

extension Request {
    /// The request with its whole body read, before the handler takes anything that others wait for.
    package func whole(atMost limit: Int) async throws -> Request {
        var request = self
        request.body = RequestBody(buffer: ByteBuffer(bytes: try await bytes(atMost: limit)))
        return request
    }

    /// Throws a 415 for a compressed body: its unpacked size has no bound before it is unpacked.
    ///
    /// Source: RFC 9110 §8.4 and §15.5.16; RFC 9112 §7 for a coding of the transfer.
    package func demandPlainBody() throws(APIError) {
        guard let coding = contentCoding ?? transferCoding else { return }
        throw APIError(
            .unsupportedMediaType,
            "The body is compressed (\(coding)), and bodies are read as they are: send it without",
            headers: [.acceptEncoding: "identity"])
    }

    private var contentCoding: String? {
        guard let coding = headers.value(.contentEncoding), !coding.isEmpty, coding.lowercased() != "identity" else {
            return nil
        }
        return "Content-Encoding: \(coding.prefix(32))"
    }

    /// A coding of the transfer other than `chunked`; nil for a body of known length.
    private var transferCoding: String? {
        guard headers.value(.contentLength) == nil, let codings = headers.value(.transferEncoding),
            codings.lowercased() != "chunked"
        else { return nil }
        let isPlain = codings.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.allSatisfy {
            $0 == "chunked" || $0 == "identity"
        }
        return isPlain ? nil : "Transfer-Encoding: \(codings.prefix(32))"
    }

    /// The whole body, chunked or not. Throws a 413 as soon as it is known to be longer than `limit`.
    package func bytes(atMost limit: Int) async throws -> [UInt8] {
        try demandPlainBody()
        if let length = headers.value(.contentLength).flatMap(Int.init), length > limit {
            throw APIError(.contentTooLarge, "body is \(length) bytes, the limit is \(limit)")
        }
        do {
            return Array(buffer: try await body.collect(upTo: limit))
        } catch is NIOTooManyBytesError {
            throw APIError(.contentTooLarge, "body is over the limit of \(limit) bytes")
        } catch {
            throw BodyUnreadable(cause: error)
        }
    }
}

/// The query parameters, by name. A missing or empty one counts as not given; of a repeated one the last counts.
struct QueryItems: Sendable {
    private(set) var values: [String: String] = [:]

    /// Decodes `+` as a space, as forms write it.
    init(_ query: String) {
        for item in query.split(separator: "&") {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[1].isEmpty else { continue }
            values[String(percentDecoding: parts[0], plusIsSpace: true)] = String(
                percentDecoding: parts[1], plusIsSpace: true)
        }
    }

    subscript(name: String) -> String? { values[name] }

    /// A text to search for.
    func text(_ name: String) throws(InvalidInput) -> String? { try values[name]?.storable(name) }

    func integer(_ name: String, from least: Int) throws(InvalidInput) -> Int? {
        guard let text = values[name] else { return nil }
        guard let integer = Int(text), integer >= least else {
            throw InvalidInput(field: name, "has to be a whole number from \(least)")
        }
        return integer
    }

    func bool(_ name: String) throws(InvalidInput) -> Bool? {
        guard let text = values[name] else { return nil }
        // Python writes them with a capital.
        guard let bool = Bool(text.lowercased()) else { throw InvalidInput(field: name, "has to be true or false") }
        return bool
    }
}

extension Request {
    var query: QueryItems { QueryItems(uri.query ?? "") }

    /// A part of the path counted from its end, without its percent-encoding; `""` when there is none.
    func pathPart(fromEnd place: Int = 0) -> String {
        let parts = uri.path.split(separator: "/")
        guard place < parts.count else { return "" }
        return String(percentDecoding: parts[parts.count - 1 - place], plusIsSpace: false)
    }
}

/// Counts, times and logs every request; never a secret, a token or a payload.
struct RequestMeter: Sendable {
    private let routeMeters = RouteMeters()

    func note(_ request: Request, _ context: APIContext, _ response: Response, since start: ContinuousClock.Instant) {
        let duration = start.duration(to: .now)
        let path = context.endpointPath ?? "none"
        routeMeters.meters(method: request.method, path: path, status: response.status).note(duration)
        context.logger.debug(
            "request answered",
            metadata: [
                "http.method": "\(request.method)", "http.path": "\(path)", "http.status": "\(response.status.code)",
                "http.seconds": "\(duration)",
            ])
    }
}

/// The meters made so far. They are few: methods, paths and statuses come from closed sets.
private final class RouteMeters: Sendable {
    private let known = Mutex<[Key: Meters]>([:])

    struct Key: Hashable {
        let method: String
        let path: String
        let status: Int
    }

    struct Meters: Sendable {
        let count: Counter
        let seconds: Metrics.Timer

        func note(_ duration: Duration) {
            count.increment()
            let (seconds, attoseconds) = duration.components
            self.seconds.recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        }
    }

    func meters(method: HTTPRequest.Method, path: String, status: HTTPResponse.Status) -> Meters {
        let key = Key(method: method.label, path: path, status: status.code)
        return known.withLock { known in
            if let meters = known[key] { return meters }
            let labels = [("method", key.method), ("path", path)]
            let meters = Meters(
                count: Counter(metric: .requests, labels + [("status", String(key.status))]),
                seconds: Metrics.Timer(metric: .requestDuration, labels + [("status", "\(status.code / 100)xx")]))
            known[key] = meters
            return meters
        }
    }
}

extension HTTPRequest.Method {
    /// A caller may invent a method; labels must stay bounded.
    fileprivate var label: String {
        switch self {
        case .get, .post, .put, .delete, .head, .options, .patch: rawValue
        default: "other"
        }
    }
}

/// Notes which of the known fields of an object a caller gave: of a field that is there twice, only the last value would count.
struct GivenFields {
    private var places: UInt64 = 0

    /// Returns false for a field that is not known; throws where it was given before.
    ///
    /// - Parameters:
    ///   - known: 64 at most.
    ///   - prefix: the path of the object.
    mutating func note(
        _ field: String, among known: [String], under prefix: String = ""
    ) throws(InvalidInput) -> Bool {
        guard let place = known.firstIndex(of: field) else { return false }
        let bit: UInt64 = 1 << UInt64(place)
        guard places & bit == 0 else { throw InvalidInput(field: prefix + field, "is given twice") }
        places |= bit
        return true
    }
}
