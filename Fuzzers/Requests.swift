import BelfryTesting
import Dispatch
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOEmbedded
import Synchronization

@testable import BelfryService

/// Whatever is asked of any path, by whoever is let in, gets an answer that is no fault of the server's and is JSON where it
/// says so.
///
/// The first line is the method and the path, then come headers and an empty line, then the body. `:app_uuid` and its
/// like in the path stand for what the server has, and `Authorization: operator`, `application` or `device` for the
/// right credentials.
func requests(_ bytes: [UInt8]) {
    let server = TestServer.current
    guard let request = Request(spelled: bytes, in: server.resources) else { return }
    wait { await server.answer(request) }
}

/// Makes a server in which nothing has been changed.
@Sendable func prepareRequests() { TestServer.prepare() }

/// Every path of every API, over a database.
private final class TestServer: Sendable {
    private static let held = Mutex<TestServer?>(nil)

    static var current: TestServer {
        guard let server = held.withLock({ $0 }) else { preconditionFailure("no server was prepared") }
        return server
    }

    /// Makes a server, unless nothing has been changed in the one before.
    static func prepare() {
        held.withLock { held in
            if let held, changes(of: held.store) == held.changesBefore { return }
            do { held = try TestServer() } catch { preconditionFailure("no server: \(error)") }
        }
    }

    let resources: TestResources
    private let store: SQLiteStore
    private let changesBefore: Int
    private let responder: any HTTPResponder<APIContext>
    private let channel = NIOAsyncTestingChannel()
    private let logger = Logger(label: "fuzzer") { _ in SwiftLogNoOpLogHandler() }

    private init() throws {
        let clock = ManualClock()
        let store = try SQLiteStore.temporary(clock: clock)
        let vault = PlaintextVault()
        let credentials = PlaintextCredentials(vault: vault)
        let router = ResponseMiddleware.router(clock: clock)
        let part = PCF.Health.Part(isHealthy: true, message: "well")
        let services = Services(store, vault: vault, clock: clock, credentials: credentials)
        PCFRoutes(services, health: { PCF.Health(database: part, queue: part, scheduler: part) }).add(to: router)
        AdminRoutes(services).add(to: router)
        CarmaRoutes(services).add(to: router)
        AcrobitsRoutes(services).add(to: router)
        MediatorRoutes(services).add(to: router)
        WebPushRoutes(services).add(to: router)
        MatrixRoutes(services, verdictWait: .zero).add(to: router)
        MattermostRoutes(services, verdictWait: .zero).add(to: router)
        RocketChatRoutes(services, verdictWait: .zero).add(to: router)
        GorushRoutes(services, verdictWait: .zero).add(to: router)
        Contract().add(to: router)
        HealthRoutes { [] }.add(to: router)
        responder = router.buildResponder()
        resources = wait {
            do {
                return try await TestResources(in: store, vault: vault, channels: credentials.channels, clock: clock)
            } catch {
                preconditionFailure("the server stays empty: \(error)")
            }
        }
        self.store = store
        changesBefore = Self.changes(of: store)
    }

    /// The number of rows that the writer has changed.
    private static func changes(of store: SQLiteStore) -> Int {
        wait {
            do {
                return try await store.write {
                    try $0.db.prepared("SELECT total_changes()").first { Int($0.integer(0)) } ?? 0
                }
            } catch {
                preconditionFailure("the database does not answer: \(error)")
            }
        }
    }

    func answer(_ request: Request) async {
        let context = APIContext(source: ApplicationRequestContextSource(channel: channel, logger: logger))
        do {
            let response = try await responder.respond(to: request, context: context)
            precondition(response.status.code < 500, "\(request.method) \(request.uri) gets a \(response.status)")
            let body = Mutex(ByteBuffer())
            try await response.body.write(Sink { buffer in body.withLock { _ = $0.writeImmutableBuffer(buffer) } })
            check(body.withLock { Array(buffer: $0) }, of: response)
        } catch {
            preconditionFailure("\(request.method) \(request.uri) gets no answer: \(error)")
        }
    }

    private func check(_ body: [UInt8], of response: Response) {
        if let length = response.body.contentLength { precondition(length == body.count, "\(response)") }
        guard response.headers[.contentType]?.hasPrefix("application/json") == true, !body.isEmpty else { return }
        do {
            _ = try JSONSerialization.jsonObject(with: Data(body), options: .fragmentsAllowed)
        } catch {
            preconditionFailure("an answer is no JSON, \(error): \(String(decoding: body, as: UTF8.self))")
        }
    }
}

private struct Sink: ResponseBodyWriter {
    let take: @Sendable (ByteBuffer) -> Void

    func write(_ buffer: ByteBuffer) async throws { take(buffer) }
    func finish(_ trailers: HTTPFields?) async throws {}
}

extension Request {
    /// nil for what no parser of HTTP would let through.
    fileprivate init?(spelled bytes: [UInt8], in resources: TestResources) {
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        let start = lines[0].split(separator: 0x20, maxSplits: 1)
        guard start.count == 2, start[1].allSatisfy({ 0x21...0x7E ~= $0 }),
            let method = HTTPRequest.Method(String(decoding: start[0], as: UTF8.self))
        else { return nil }
        var headers = HTTPFields()
        for line in lines.dropFirst().prefix(while: { !$0.isEmpty }) {
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = HTTPField.Name(String(decoding: parts[0], as: UTF8.self)) else {
                return nil
            }
            let value = String(decoding: parts[1].drop { $0 == 0x20 }, as: UTF8.self)
            headers.append(HTTPField(name: name, value: resources.credentials[value] ?? value))
        }
        let body = lines.dropFirst(headers.count + 2).joined(separator: [0x0A])
        self.init(
            head: HTTPRequest(
                method: method, scheme: "http", authority: "belfry", path: resources.filled(start[1]),
                headerFields: headers),
            body: RequestBody(buffer: ByteBuffer(bytes: Array(body))))
    }
}

/// Waits for the result of the work, on whatever thread it is done.
private func wait<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value {
    let isDone = DispatchSemaphore(value: 0)
    let value = Mutex<Value?>(nil)
    Task {
        let result = await work()
        value.withLock { $0 = result }
        isDone.signal()
    }
    isDone.wait()
    guard let result = value.withLock({ $0 }) else { preconditionFailure("the work came to nothing") }
    return result
}
