import Crypto
import FoundationEssentials
import HTTPTypes
package import Hummingbird
import Logging
import NIOCore

/// Runs a request with an `Idempotency-Key` once, and answers its repetitions with the first answer.
///
/// The name is held in the database before the request runs. What the request creates gets the record's idempotent id,
/// so that a repetition after a crash finds it (`IdempotentID`); a request whose handler cannot do that is not run
/// again once its result is unknown. Answers are stored sealed. Requests without the header are passed through.
package struct IdempotencyMiddleware: Sendable {
    private let once: DoneOnce
    private let bodyBytesMax: Int
    private let hold: Duration

    package static let keyBytesMax = 255
    /// A longer answer is not stored, since a caller may create any number: a repetition gets the status and a note
    /// about that.
    static let keptBytesMax = 16_384

    /// - Parameter hold: longer than any request may take.
    package init(
        store: any Store, vault: any Vault, bodyBytesMax: Int, hold: Duration = DoneOnce.hold
    ) {
        once = DoneOnce(store: store, vault: vault)
        self.bodyBytesMax = bodyBytesMax
        self.hold = hold
    }

    /// - Parameter isRepeatable: whether the handler uses the id of `IdempotentID`, or has no second effect when it is
    ///   run twice for other reasons.
    package func run(
        _ request: Request, _ context: APIContext, by principal: Principal, isRepeatable: Bool,
        _ handler: (Request) async throws -> Response
    ) async throws -> Response {
        guard let key = request.headers[.idempotencyKey] else { return try await handler(request) }
        try Self.check(key)
        let body = try await request.bytes(atMost: bodyBytesMax)
        let reservation = Reservation(
            name: Self.name(key, principal), caller: principal, request: Self.digest(request, body),
            idempotentID: .timeOrdered(), hold: hold)
        let run = Run(once: once, request: request.with(body))
        switch try await once.store.reserve(reservation) {
        case .first(let id): return try await run.perform(.init(reservation.name, id, context.logger), handler)
        case .again(let id):
            let holder = DoneOnce.Holder(reservation.name, id, isRepetition: true, context.logger)
            guard isRepeatable else {
                await once.release(holder, hadNoEffect: false)
                throw Self.unknownFate
            }
            return try await Self.$isRepetition.withValue(true) { try await run.perform(holder, handler) }
        case .answered(let answer):
            return Response(try once.content(of: answer, to: reservation.name), answer.status)
        case .taken: throw Self.taken
        case .busy(let wait): throw Self.busy(wait)
        }
    }

    /// Whether the request is run again after an interruption, and may have had its effect.
    @TaskLocal private static var isRepetition = false

    /// Refuses a retry where a handler that is usually repeatable is not.
    static func refuseRepetition() throws(APIError) {
        if isRepetition { throw unknownFate }
    }

    private static func check(_ key: String) throws(InvalidInput) {
        guard 1...keyBytesMax ~= key.utf8.count else {
            throw InvalidInput(field: "Idempotency-Key", "is \(key.utf8.count) bytes, it has to be 1 to \(keyBytesMax)")
        }
        guard key.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) else {
            throw InvalidInput(field: "Idempotency-Key", "has a character that is not printable ASCII")
        }
    }

    /// Keeps the keys of callers apart.
    private static func name(_ key: String, _ principal: Principal) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: [principal.kind.rawValue])
        withUnsafeBytes(of: principal.id.bigEndian) { hash.update(bufferPointer: $0) }
        hash.update(data: Array(key.utf8))
        return Array(hash.finalize())
    }

    private static func digest(_ request: Request, _ body: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("\(request.method.rawValue) \(request.uri.string)\n".utf8))
        hash.update(data: body)
        return Array(hash.finalize())
    }

    private static let taken = APIError(
        .conflict, "This Idempotency-Key was used for another request; use a new key for each request")

    private static let unknownFate = APIError(
        .conflict,
        "A request with this Idempotency-Key was interrupted, and it is unknown whether it took effect: "
            + "see for yourself, and take a new key")

    private static func busy(_ wait: Duration) -> APIError {
        APIError(
            .conflict, "A request with this Idempotency-Key is still running; retry for its answer",
            headers: [.retryAfter: String(min(wait, .seconds(1)).wholeSeconds)])
    }

    /// One request that holds a name.
    private struct Run {
        let once: DoneOnce
        let request: Request

        func perform(
            _ holder: DoneOnce.Holder, _ handler: (Request) async throws -> Response
        ) async throws -> Response {
            let response = try await once.perform(holder) {
                try await IdempotentID.$given.withValue(holder.id) { try await handler(request) }
            }
            guard response.status.kind == .successful else {
                await once.release(holder, hadNoEffect: response.status.kind == .clientError)
                return response
            }
            let body = try await response.body.collected()
            let kept = body.readableBytes <= IdempotencyMiddleware.keptBytesMax ? body : Self.tooLongToKeep
            await once.keep(
                Array("\(response.keptHeaders)\r\n".utf8) + Array(buffer: kept), status: response.status.code,
                for: holder)
            return Response(status: response.status, headers: response.headers, body: ResponseBody(byteBuffer: body))
        }

        private static var tooLongToKeep: ByteBuffer {
            var json = JSONWriter()
            json.object { json in
                json.string(
                    "message",
                    "The request took effect; its answer was over \(IdempotencyMiddleware.keptBytesMax) bytes and is not kept"
                )
            }
            return json.buffer
        }
    }
}

extension Request {
    fileprivate func with(_ body: [UInt8]) -> Request {
        var request = self
        request.body = RequestBody(buffer: ByteBuffer(bytes: body))
        return request
    }
}

extension Response {
    /// The headers stored with an answer, a line each; the others are set again with each answer.
    fileprivate var keptHeaders: String {
        headers.filter { [.contentType, .eTag, .location, .warning].contains($0.name) }
            .map { "\($0.name): \($0.value)\r\n" }.joined()
    }

    /// A stored answer.
    fileprivate init(_ content: [UInt8], _ status: Int) {
        var body = ByteBuffer(bytes: content)
        var headers: HTTPFields = [.idempotencyReplayed: "true"]
        while let line = body.readLine(), !line.isEmpty {
            let parts = line.split(separator: ": ", maxSplits: 1)
            if parts.count == 2, let name = HTTPField.Name(String(parts[0])) { headers[name] = String(parts[1]) }
        }
        self.init(
            status: .init(code: status), headers: headers, body: ResponseBody(byteBuffer: body))
    }
}

extension ByteBuffer {
    /// Reads up to the next CR LF, which is consumed; nil when there is none.
    fileprivate mutating func readLine() -> String? {
        guard let end = readableBytesView.firstIndex(of: 0x0D) else { return nil }
        let line = readString(length: end - readerIndex)
        moveReaderIndex(forwardBy: 2)
        return line
    }
}

extension ResponseBody {
    consuming func collected() async throws -> ByteBuffer {
        let collector = BodyCollector()
        try await write(collector)
        return collector.buffer
    }
}

private final class BodyCollector: ResponseBodyWriter {
    private(set) var buffer = ByteBuffer()

    func write(_ part: ByteBuffer) async throws { buffer.writeImmutableBuffer(part) }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
