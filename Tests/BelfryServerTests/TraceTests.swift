import BelfryServer
import BelfrySimulators
import Foundation
import Testing

/// The real program and a collector of traces.
extension CommandTests {
    @Suite struct TraceTests {}
}

extension CommandTests.TraceTests {
    @Test func `each push has one span, acceptance to last answer`() async throws {
        try await TraceCollector.with(key: "secret-key") { collector in
            try await TestInstallation.with { installation in
                _ = try await installation.crowd(1_200)
                let headers = try installation.scratch.write("X-Key: secret-key\n", to: "headers")
                let server = try await installation.serve([
                    "BELFRY_TRACES_ENDPOINT": collector.url, "BELFRY_TRACES_HEADERS_FILE": headers,
                ])
                defer { server.endAtOnce() }
                let sender = installation.sender(at: try await server.addresses().http)
                var pushes: [UUID] = []
                for _ in 0..<3 { pushes.append(try await sender.push("Hello", toTopic: "town")) }
                pushes.append(try await sender.push("Hello", toTopic: "nobody"))
                try await eventually("all spans came", every: .milliseconds(50)) { collector.spans.count >= 4 }
                for push in pushes {
                    let id = push.uuidString.lowercased().replacing("-", with: "")
                    let spans = collector.spans.filter { $0.traceID == id }
                    let span = try #require(spans.first)
                    #expect(spans.count == 1 && span.name == "push" && span.service == "belfry")
                    #expect(span.spanID == String(id.suffix(16)) && span.start > 1_700_000_000_000_000_000)
                    #expect(span.start <= span.end && span.attributes["belfry.push.id"] == push.uuidString.lowercased())
                    let devices = push == pushes.last ? 0 : 1_200
                    #expect(span.attributes["belfry.push.devices"] == String(devices), "\(span)")
                    guard devices > 0 else { continue }
                    #expect(span.attributes["belfry.push.answers.accepted"] == String(devices))
                    let first = try #require(span.events["first answer"])
                    #expect(span.start <= first && first <= span.end)
                }
                try await server.end(SIGTERM)
                #expect(server.ending == 0, "\(server.logged.suffix(2_000))")
                #expect(collector.spans.count == 4 && collector.faults == [], "\(collector.spans)")
            }
        }
    }

    @Test func `a collector that fails holds nothing up and misses nothing`() async throws {
        try await TraceCollector.with { collector in
            collector.status = 503
            try await TestInstallation.with { installation in
                _ = try await installation.crowd(10)
                let server = try await installation.serve(["BELFRY_TRACES_ENDPOINT": collector.url])
                defer { server.endAtOnce() }
                let sender = installation.sender(at: try await server.addresses().http)
                let push = try await sender.push("Hello", toTopic: "town")
                #expect(try await installation.settled(push).counts == ["accepted": 10])
                try await eventually("it was asked in vain") { collector.asked > 0 }
                #expect(collector.spans == [])
                collector.status = 200
                try await eventually("it gets the span after all", every: .milliseconds(50)) {
                    collector.spans.count == 1
                }
                try await eventually("the log tells of it") {
                    server.logged.contains("the collector of traces takes no spans")
                }
                try await server.end(SIGTERM)
            }
        }
    }

    @Test func `without a collector there is no span`() async throws {
        try await TestInstallation.with { installation in
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let page = try await Caller(base: try await server.addresses().management, user: "", secret: "")
                .send("GET", "/metrics").body
            #expect(page.contains(#"belfry_spans_total{outcome="sent"} 0"#))
            try await server.end(SIGTERM)
        }
    }

    @Test(arguments: [
        ("127.0.0.1:4318", "it has to be http://host:port"),
        ("http://me:swo0rd@h:4318", "a key belongs in traces.headers.file"),
        ("http://h:4318/?key=swo0rd", "a key belongs in traces.headers.file"),
    ])
    func `an endpoint that is none is refused`(url: String, words: String) async throws {
        try await Scratch.with { scratch in
            let ended = try await Program.run(
                ["check", "--data-directory", scratch.file("data")], ["BELFRY_TRACES_ENDPOINT": url], in: scratch)
            #expect(ended.status == 1 && ended.err.contains("traces.endpoint") && ended.err.contains(words), "\(ended)")
            #expect(!ended.err.contains("swo0rd"), "\(ended)")
        }
    }
}
