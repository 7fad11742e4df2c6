import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import PostgresRig
import Testing

/// The real program on PostgreSQL.
extension OutageTests {
    @Suite(.timeLimit(.minutes(20))) struct PostgresTests {}
}

extension OutageTests.PostgresTests {
    @Test func `commands, apps and back ends work on PostgreSQL alike`() async throws {
        try await PostgresServer.with { database in
            try await TestInstallation.with(database: database.url(of: "postgres")) { installation in
                let server = try await installation.serve()
                defer { server.endAtOnce() }
                let base = try await server.addresses().http
                let token = String(repeating: "ab", count: 32)
                let registered = try await installation.app(at: base).send(
                    "POST", "/v1/registration", #"{"registration_token":"\#(token)","tags":["town"]}"#)
                #expect(registered.status == 200, "\(registered)")
                let push = try await installation.sender(at: base).push("Hello", toTopic: "town")
                #expect(try await installation.settled(push).counts == ["accepted": 1])
                #expect(installation.simulator.ledger.token([UInt8](repeating: 0xAB, count: 32))?.told == 1)
                #expect(try await installation.run("check").status == 0)
                for (setting, words) in [
                    ("default_transaction_read_only%3Don", "cannot be written"),
                    ("search_path%3Dnowhere", "may not make tables"),
                ] {
                    let url = database.url(of: "postgres") + "?options=-c%20\(setting)"
                    let refused = try await Program.run(
                        ["check", "--data-directory", installation.data], ["BELFRY_DATABASE_URL": url],
                        in: installation.scratch)
                    #expect(refused.status != 0 && refused.err.contains(words), "\(refused)")
                }
                try await server.end(SIGTERM)
                #expect(server.ending == 0)
            }
        }
    }

    @Test func `a killed node shows in receipt, story and node list`() async throws {
        try await PostgresServer.with { database in
            try await TestInstallation.with(database: database.url(of: "postgres")) { installation in
                let crowd = try await installation.crowd(1)
                installation.simulator.script.add(ServiceFault(then: .stall()))
                let server = try await installation.serve()
                defer { server.endAtOnce() }
                let base = try await server.addresses().http
                let push = try await installation.sender(at: base).push("Hello", toTopic: "town")
                func story() async throws -> String {
                    try await installation.run(
                        "receipt", push.lowercased, "--device", crowd.devices[0].uuid.lowercased
                    ).out
                }
                try await eventually("it is being sent", every: .milliseconds(100)) {
                    try await story().contains("it is being sent")
                }
                try await server.end(SIGKILL)

                /// As if the node had been heard of so long ago, and the push been accepted then; the lease stays.
                func silence(ofSeconds seconds: Int) throws {
                    let then = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint - \(seconds * 1_000)"
                    try database.run("UPDATE node SET last_seen_at_ms = \(then)")
                    try database.run("UPDATE push SET accepted_at_ms = \(then)")
                }
                // Before each command, since a node is gone after twenty seconds.
                try silence(ofSeconds: 11)
                let silent = try await installation.run("nodes")
                #expect(silent.out.contains(#/up, not seen for 1\d s/#), "\(silent)")
                try silence(ofSeconds: 11)
                let waiting = try await installation.run("receipt", push.lowercased)
                #expect(
                    waiting.out.contains(
                        #/waits +if node .+, which has not been heard of since .+, another node sends that by 2/#),
                    "\(waiting)")
                try silence(ofSeconds: 11)
                #expect(try await story().contains("which has not been heard of since"))

                try silence(ofSeconds: 3 * 86_400)
                let absent = "no server is running on the database that database.url names"
                let gone = try await installation.run("nodes")
                #expect(gone.out.contains("gone, not seen for 3 days") && gone.err.contains(absent), "\(gone)")
                let absence = try await installation.run("receipt", push.lowercased)
                #expect(absence.out.contains("\(absent): the rest is sent once one starts; what was"), "\(absence)")
                #expect(try await story().contains("\(absent): it was being sent when the last one ended"))
            }
        }
    }

    @Test func `a database outage is explained and sends resume soon after`() async throws {
        try await PostgresServer.with { database in
            try await TestInstallation.with(database: database.url(of: "postgres")) { installation in
                _ = try await installation.crowd(3)
                let server = try await installation.serve()
                defer { server.endAtOnce() }
                let addresses = try await server.addresses()
                let (sender, management) = (
                    installation.sender(at: addresses.http), Caller(base: addresses.management, user: "", secret: "")
                )
                #expect(
                    try await installation.settled(try await sender.push("One", toTopic: "town")).counts == [
                        "accepted": 3
                    ])
                database.stop()
                let refused = try await sender.send(
                    "POST", "/v1/push", #"{"message":{"body":"Two"},"target":{"topics":["town"]}}"#)
                #expect(refused.status == 503 && refused.headers["retry-after"] != nil, "\(refused)")
                try await eventually("it is not ready") {
                    try await management.send("GET", "/health/ready").status == 503
                }
                try database.start()
                let taken = try await eventually("a push is taken", every: .milliseconds(200)) {
                    try? await sender.push("Three", toTopic: "town")
                }
                let told = ContinuousClock.now
                #expect(try await installation.settled(taken).counts == ["accepted": 3])
                #expect(told.duration(to: .now) < .seconds(30))
                try await eventually("it is ready again") {
                    try await management.send("GET", "/health/ready").status == 200
                }
                try await server.end(SIGTERM)
                #expect(server.ending == 0)
            }
        }
    }

    @Test func `an unusable database stops the start without showing passwords`()
        async throws
    {
        try await PostgresServer.with { database in
            try database.addRole("locked", password: "right")
            let url = database.url(of: "postgres")
            let faults = [
                ("postgres://postgres@%2Fnowhere/x", "cannot be reached"),
                (url.replacing("postgres@", with: "locked:topsecret@"), "password authentication failed"),
                (database.url(of: "nobodys"), "does not exist"),
                ("postgres://locked:topsecret@[::1/x", "cannot read the connection string"),
            ]
            try await Scratch.with { scratch in
                for command in ["serve", "check"] {
                    for (url, words) in faults {
                        let ended = try await Program.run(
                            [command, "--data-directory", scratch.file("data")],
                            Program.freePorts.merging(["BELFRY_DATABASE_URL": url]) { $1 }, in: scratch)
                        #expect(ended.status != 0)
                        #expect(ended.err.contains(words), "\(ended.err)")
                        #expect(!ended.err.contains("topsecret"), "\(ended.err)")
                    }
                }
            }
        }
    }

    @Test func `a damaged batch shows in receipt and metrics, then ends`() async throws {
        try await PostgresServer.with { database in
            try await TestInstallation.with(database: database.url(of: "postgres")) { installation in
                let crowd = try await installation.crowd(5)
                installation.simulator.script.add(
                    ServiceFault(then: .answer(ScriptedAnswer(APNsReason.internalServerError.rawValue, status: 500))))
                let server = try await installation.serve()
                defer { server.endAtOnce() }
                let management = try await server.addresses().management
                let printed = installation.scratch.file("printed")
                let following = try Program.start(
                    ["push", "--app", installation.application, "--topic", "town", "--body", "Hello", "--follow"]
                        + installation.storageFlags, [:], printingTo: printed,
                    log: installation.scratch.file("following"))
                defer { following.endAtOnce() }
                let push = try await eventually("the receipt is known") {
                    following.logged.firstMatch(of: #/receipt_id  ([0-9a-f-]+)\n/#).map { String($0.1) }
                }
                // The batch waits to be tried again.
                try await eventually("all were tried") {
                    installation.simulator.script.timesHappened.first.map { $0 >= crowd.count } ?? false
                }
                let receipt = { () async throws -> TestInstallation.ReceiptDetails in
                    try TestInstallation.ReceiptDetails(
                        try await installation.run("receipt", push, "--json"))
                }
                try await eventually("it is damaged", every: .milliseconds(200)) {
                    try database.run(#"UPDATE batch SET devices = '\xff', due_at_ms = 0"#)
                    return try await receipt().state == "damaged"
                }
                let metrics = Caller(base: management, user: "", secret: "")
                try await eventually("the metrics tell") {
                    try await metrics.send("GET", "/metrics").body.contains("belfry_batches_damaged 1.0\n")
                }
                try await eventually("it is followed no longer") { !following.isRunning }
                #expect(following.ending == 2)
                #expect(try String(contentsOfFile: printed, encoding: .utf8).contains("belfry write-off \(push)"))
                #expect(try await installation.run("write-off", push).out == "written off: 5 devices\n")
                let settled = try await receipt()
                #expect(settled.state == "settled" && settled.counts == ["skipped: damaged": 5])
                #expect(try await installation.run("write-off", push).out == "nothing is damaged\n")
                try await server.end(SIGTERM)
            }
        }
    }
}
