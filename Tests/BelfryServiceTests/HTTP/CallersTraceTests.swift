import BelfryTesting
import FoundationEssentials
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import Testing

@testable import BelfryService

/// A caller's trace in log lines.
@Suite struct CallersTraceTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test(arguments: [
        "00-\(Self.trace)-\(Self.span)-01", "00-\(Self.trace)-\(Self.span)-00",
        "cc-\(Self.trace)-\(Self.span)-01-what-the-future-brings",
    ])
    func `a trace is known by its id`(header: String) throws {
        let parent = try #require(TraceParent(header))
        #expect(parent.trace == Self.trace)
        #expect(parent.span == Self.span)
    }

    @Test(
        arguments: [
            "", "-", "---", "00-\(Self.trace)-\(Self.span)", "00-\(Self.trace)-\(Self.span)-01-more",
            "ff-\(Self.trace)-\(Self.span)-01",
            "00-\(Self.trace.uppercased())-\(Self.span)-01", "00-\(Self.trace)0-\(Self.span)-01",
            "00-\(Self.trace)-\(Self.span.dropLast())-01",
            "00-00000000000000000000000000000000-\(Self.span)-01", "00-\(Self.trace)-0000000000000000-01",
            "00-\(Self.trace)-\(Self.span)-0", "00-\(Self.trace)-\(Self.span)-0g",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-\(Self.span)-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4735\u{FE0F}-\(Self.span)-01",
        ])
    func `a malformed trace header gives no trace`(header: String) {
        #expect(TraceParent(header) == nil)
    }

    @Test func `a request's log lines name its caller's trace`() async throws {
        let router = ResponseMiddleware.router(clock: StoppedClock())
        router.get("trace") { _, context in
            let logger = context.logger
            return
                #"["\#(logger[metadataKey: "trace.id"] ?? "none")","\#(logger[metadataKey: "trace.parent.id"] ?? "none")"]"#
        }
        let server = try await TestServer()
        let header = try #require(HTTPField.Name("traceparent"))
        for (value, said) in [
            ("00-\(Self.trace)-\(Self.span)-01", #"["\#(Self.trace)","\#(Self.span)"]"#),
            ("00-x-y-01", #"["none","none"]"#),
        ] {
            let reply = try await server.send(.get, "/trace", through: router, headers: [header: value])
            #expect(reply.text == said)
        }
    }

    @Test func `an accepted push logs trace, receipt and key everywhere`() async throws {
        let server = try await TestServer()
        let sender = TestServer.User.basic(server.application.uuid.uuidString, TestServer.apiKey)
        let body = #"{"message":{"body":"Hello"},"target":{"topics":["dairy"]}}"#
        var lines = try await logged(server.router(), "/v1/push", sender, body)
        let admin = try await TestAdminServer()
        let resources = try await admin.resources("Bakery")
        let router = ResponseMiddleware.router(clock: admin.clock)
        admin.routes.add(to: router)
        let path = "/admin/v1/apps/\(resources.application.uuid.lowercased)"
        let testPush = "\(path)/devices/\(resources.device.uuid.lowercased)/test-push"
        lines += try await logged(router, "\(path)/pushes", "Bearer \(admin.operator)", body)
        lines += try await logged(router, testPush, "Bearer \(admin.operator)", "{}")
        #expect(lines.count == 3)
        for (receipt, line) in lines {
            #expect(line.contains("trace.id=\(Self.trace)"), "\(line)")
            #expect(line.contains("push.receipt_id=\(receipt)"), "\(line)")
            #expect(line.contains(/push\.key=[1-9]/), "\(line)")
        }
    }

    /// The log lines of a push that is sent within the trace, with its receipt id.
    private func logged(
        _ router: Router<APIContext>, _ path: String, _ authorization: String, _ body: String
    ) async throws -> [(receipt: String, line: String)] {
        let log = CapturedLog()
        var logger = log.logger
        logger.logLevel = .debug
        let app = Hummingbird.Application(router: router, logger: logger)
        let reply = try await app.test(.router) { client in
            var headers: HTTPFields = [.authorization: authorization]
            headers[try #require(HTTPField.Name("traceparent"))] = "00-\(Self.trace)-\(Self.span)-01"
            return try TestAnswer(
                try await client.execute(uri: path, method: .post, headers: headers, body: ByteBuffer(string: body)))
        }
        let receipt = try #require(reply["receipt_id"]?.stringValue, "\(reply)")
        return log.lines(atLeast: .debug).filter { $0.hasPrefix("push accepted") }.map { (receipt, $0) }
    }
}
