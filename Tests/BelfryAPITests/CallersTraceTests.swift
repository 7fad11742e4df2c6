import HTTPTypes
import Hummingbird
import Logging
import Testing

@testable import BelfryAPI

/// The trace of a caller in what is logged.
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
    func `what is no trace is none`(header: String) {
        #expect(TraceParent(header) == nil)
    }

    @Test func `what is logged of a request names the trace of its caller`() async throws {
        let router = FrontDoor.router(clock: StoppedClock())
        router.get("trace") { _, context in
            let logger = context.logger
            return
                #"["\#(logger[metadataKey: "trace.id"] ?? "none")","\#(logger[metadataKey: "trace.parent.id"] ?? "none")"]"#
        }
        let stand = try await Stand()
        let header = try #require(HTTPField.Name("traceparent"))
        for (value, said) in [
            ("00-\(Self.trace)-\(Self.span)-01", #"["\#(Self.trace)","\#(Self.span)"]"#),
            ("00-x-y-01", #"["none","none"]"#),
        ] {
            let reply = try await stand.send(.get, "/trace", through: router, headers: [header: value])
            #expect(reply.text == said)
        }
    }
}
