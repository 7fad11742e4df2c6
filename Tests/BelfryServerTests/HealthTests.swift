import BelfryServer
import BelfryService
import BelfryTesting
import Foundation
import Testing

extension ServerTests {
    @Suite struct HealthTests {}
}

extension ServerTests.HealthTests {
    @Test func `a server is ready on both ports or says why`() async throws {
        let ring = NSTemporaryDirectory() + "/belfry-ring-\(UUID().uuidString)"
        try await TestServer.open(mayLogErrors: true, configure: { $0.storage.keyRingFile = ring }) { server in
            defer { try? FileManager.default.removeItem(atPath: ring) }
            let management = Caller(base: server.addresses.management, user: "", secret: "")
            let well = #"{"status":"ready","faults":[]}"#
            for caller in [server.sender, management] {
                let reply = try await caller.send("GET", "/health/ready")
                #expect(reply.status == 200 && reply.body == well)
                let live = try await caller.send("GET", "/health/live")
                #expect(live.status == 200 && live.body == #"{"status":"live","faults":[]}"#)
            }
            try FileManager.default.moveItem(atPath: ring, toPath: ring + ".away")
            try await eventually("the ring is missed") {
                try await management.send("GET", "/health/ready").status == 503
            }
            let reasons = try await management.send("GET", "/health/ready").body
            #expect(reasons.contains(#""part":"key_ring""#) && reasons.contains(ring))
            let bare = try await server.sender.send("GET", "/health/ready")
            #expect(bare.status == 503 && bare.body == #"{"status":"unready","faults":[{"part":"key_ring"}]}"#)
            try FileManager.default.moveItem(atPath: ring + ".away", toPath: ring)
            try await eventually("it is ready again") {
                try await management.send("GET", "/health/ready").body == well
            }
            #expect(server.hasLogged("the server is not ready part=key_ring"))
        }
    }

    @Test func `too little room on the disk is a fault`() async throws {
        try await TestServer.open(mayLogErrors: true, configure: { $0.diskFreeMin = .max >> 1 }) { server in
            try await eventually("the disk is looked at") {
                try await server.sender.send("GET", "/health/ready").body.contains(#""part":"disk""#)
            }
        }
    }
}
