import BelfryProviders
import BelfryServer
import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Logging
import NIOCore
import Synchronization
import Testing

/// The work of operators on a server: starting, stopping, filling its disk, working beside it.
extension ServerTests {
    @Suite struct OperationTests {}
}

extension ServerTests.OperationTests {
    @Test(arguments: 1...6)
    func `a caller told of readiness is served at once`(round: Int) async throws {
        try await Scratch.with { scratch in
            let configuration = try await TestServer.quick(in: scratch)
            let server = Server(
                configuration: configuration, metrics: PrometheusRegistry(), logger: CapturedLog().logger,
                obeysSignals: false)
            let (stop, end) = AsyncStream.makeStream(of: Void.self)
            let statuses = Mutex<[Int]>([])
            try await server.run(until: stop) { addresses, _ in
                for (base, path) in [(addresses.http, "/v1/version"), (addresses.management, "/health/ready")] {
                    let reply = try? await Caller(base: base, user: "", secret: "").send("GET", path)
                    statuses.withLock { $0.append(reply?.status ?? 0) }
                }
                end.finish()
            }
            #expect(statuses.withLock { $0 } == [200, 200])
        }
    }
}

// MARK: - Ending and beginning again

extension ServerTests.OperationTests {
    @Test func `a simulator refuses unknown ledger details and names known ones`() async throws {
        try await Scratch.with { scratch in
            let ended = try await Program.run(["simulate", "apns", "--ledger", "everything"], in: scratch)
            #expect(ended.status != 0)
            #expect(["totals", "tokens", "payloads"].allSatisfy { ended.err.contains($0) }, "\(ended.err)")
        }
    }

    @Test func `a restart keeps applications, devices and receipts`() async throws {
        try await TestInstallation.with { installation in
            let first = try await installation.serve()
            defer { first.endAtOnce() }
            let base = try await first.addresses().http
            let token = String(repeating: "ab", count: 32)
            let registered = try await installation.app(at: base).send(
                "POST", "/v1/registration", #"{"registration_token":"\#(token)","tags":["town"],"device_alias":"Emma"}"#
            )
            let device = try #require(registered.body.firstMatch(of: #/"device_uuid":"([^"]+)"/#)).1
            let push = try await installation.sender(at: base).push("Hello", toTopic: "town")
            #expect(try await installation.settled(push).counts == ["accepted": 1])
            try await first.end(SIGTERM)
            #expect(first.ending == 0)

            let second = try await installation.serve()
            defer { second.endAtOnce() }
            let baseAgain = try await second.addresses().http
            let shown = try await installation.app(at: baseAgain).send("GET", "/v1/registration/\(device)")
            #expect(shown.body == registered.body)
            #expect(try await installation.settled(push).counts == ["accepted": 1])
            let again = try await installation.sender(at: baseAgain).push("Hello", toTopic: "town")
            #expect(try await installation.settled(again).counts == ["accepted": 1])
            try await second.end(SIGTERM)
        }
    }

    @Test func `a stop finishes batches of a push; restart sends others`() async throws {
        try await TestInstallation.with { installation in
            let crowd = try await installation.crowd(8_000)
            // A thousand at a time, a second each: there is time to tell it to stop.
            installation.simulator.script.set(ServiceScript(latencyMilliseconds: 1_000))
            let first = try await installation.serve(["BELFRY_DELIVERY_BATCHES_MAX": "2"])
            defer { first.endAtOnce() }
            let push = try await installation.sender(at: try await first.addresses().http).push(
                "Hello", toTopic: "town")
            try await eventually("it delivers") { installation.simulator.ledger.totals().told > 1_000 }
            let told = ContinuousClock.now
            try await first.end(SIGTERM, within: .seconds(40))
            #expect(first.ending == 0)
            #expect(ContinuousClock.now - told < .seconds(20))
            #expect(
                installation.simulator.ledger.totals().told < crowd.count,
                "the push was over before the server was told to stop")
            installation.simulator.script.clear()

            let second = try await installation.serve()
            defer { second.endAtOnce() }
            #expect(try await installation.settled(push).counts == ["accepted": crowd.count])
            #expect(installation.simulator.ledger.totals().told == crowd.count)
            #expect(installation.simulator.ledger.totals().tokensToldTwice == 0)
            try await second.end(SIGTERM)
        }
    }
}

// MARK: - The metrics page

extension ServerTests.OperationTests {
    @Test func `the metrics page times push, provider, store and request`() async throws {
        try await TestInstallation.with { installation in
            _ = try await installation.crowd(3)
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let (base, management) = try await server.addresses()
            let push = try await installation.sender(at: base).push("Hello", toTopic: "town")
            #expect(try await installation.settled(push).counts == ["accepted": 3])
            let counts = [
                #"belfry_push_delivery_seconds_count{lane="normal",platform="ios"} 1"#,
                #"belfry_provider_send_duration_seconds_count{platform="ios"} 1"#,
                #"belfry_batch_age_seconds_count{lane="normal"} 1"#,
                #"belfry_http_request_duration_seconds_count{method="POST",path="/v1/push",status="2xx"} 1"#,
            ]
            let caller = Caller(base: management, user: "", secret: "")
            try await eventually("the metrics page has all counts") {
                let batch = try await caller.send("GET", "/metrics").body
                return batch.contains("belfry_store_transaction_seconds_bucket{")
                    && counts.allSatisfy { batch.contains($0 + "\n") }
            }
            try await server.end(SIGTERM)
        }
    }
}

// MARK: - The command line

extension ServerTests.OperationTests {
    @Test func `commands work beside a running server`() async throws {
        try await TestInstallation.with { installation in
            let crowd = try await installation.crowd(700)
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            let base = try await server.addresses().http
            async let followed = installation.run(
                "push", "--app", installation.application, "--everyone", "--yes", "--body", "Hello", "--follow",
                "--json")
            async let created = installation.run("app", "create", "--name", "Butcher", "--json")
            let (receipt, application) = try await (
                TestInstallation.ReceiptDetails(followed), TestInstallation.Created(created)
            )
            #expect(receipt.state == "settled")
            #expect(receipt.counts == ["accepted": crowd.count])
            #expect(
                try await TestInstallation.ReceiptDetails(installation.run("receipt", receipt.receipt_id, "--json"))
                    == receipt)
            let device = crowd.devices[7].uuid.lowercased
            let story = try await installation.run("receipt", receipt.receipt_id, "--device", device).out
            #expect(
                story.contains(#/answer +accepted/#) && story.contains("nothing: the device has its answer"), "\(story)"
            )
            // The running server knows the application that another process made.
            let butcher = Caller(base: base, user: application.app_uuid, secret: application.api_key)
            try await eventually("the server knows the new application") {
                try await butcher.send("POST", "/v1/push", #"{"message":{"body":"x"},"target":{"platform":"all"}}"#)
                    .status == 200
            }
            try await server.end(SIGTERM)
        }
    }

    @Test func `an unreachable provider shows in receipt, log, metrics and test`()
        async throws
    {
        try await TestInstallation.with(reachingProviderBy: { _ in try Loopback.freePort() }) { installation in
            _ = try await installation.crowd(3)
            let server = try await installation.serve(["BELFRY_APNS_DEADLINE_SECONDS": "1"])
            defer { server.endAtOnce() }
            let addresses = try await server.addresses()
            let push = try await installation.sender(at: addresses.http).push("Hello", toTopic: "town")
            try await eventually("the receipt tells") {
                let receipt = try await installation.run("receipt", push.lowercased).out
                return receipt.contains("delivering") && receipt.contains(#/unreachable +connect: cannot connect to/#)
            }
            try await eventually("the log tells of it") {
                server.logged.contains("a provider cannot be reached, its devices wait")
            }
            let batch = Caller(base: addresses.management, user: "", secret: "")
            let metrics = try await batch.send("GET", "/metrics").body
            #expect(metrics.contains("belfry_provider_connection_faults_total{"))
            let test = try await installation.run("platform", "test", installation.platform)
            #expect(test.status != 0 && test.out.contains("Connection refused"), "\(test)")
            try await server.end(SIGTERM)
        }
    }

    @Test func `check tells everything that is wrong, all at once`() async throws {
        try await Scratch.with { scratch in
            let environment = [
                "BELFRY_DATA_DIRECTORY": scratch.file("data"), "BELFRY_HTTP_PORT": "70000", "BELFRY_LOG_LEVEL": "loud",
                "BELFRY_DATABASE_MIGRATE": "perhaps", "BELFRY_DELIVERY_BATCHES_MAX": "many", "BELFRY_HTP_HOST": "x",
                "BELFRY_DELIVERY_LEASE_SECONDS": "10", "push_apns_sendReceipt": "maybe",
            ]
            let ended = try await Program.run(["check"], environment, in: scratch)
            #expect(ended.status == 1)
            for key in [
                "http.port", "log.level", "database.migrate", "delivery.batches.max",
                "BELFRY_HTP_HOST is not a setting of docs/Configuration.md; the nearest is BELFRY_HTTP_HOST",
                "delivery.lease.seconds is 10",
                "apns.send.receipt is `maybe`, it has to be true or false, in push_apns_sendReceipt",
            ] {
                #expect(ended.err.contains(key), "\(key): \(ended.err)")
            }
            #expect(!FileManager.default.fileExists(atPath: scratch.file("data")), "check changes nothing")
            let serve = try await Program.run(["serve"], environment, in: scratch)
            #expect(serve.status != 0)
            #expect(serve.err.contains("http.port"))
            let file = try scratch.write("{\"http\": ", to: "broken.json")
            let broken = try await Program.run(["check", "--config", file], in: scratch)
            #expect(broken.status == 1)
            #expect(broken.err.contains(file))
            let old = [
                "BELFRY_DATA_DIRECTORY": scratch.file("data"), "push_baidu_httpProxyHost": "proxy.example",
                "push_apns_sendReceipt": "", "BELFRY_PROVIDERS_DNS_SERVERS": "192.0.2.1, ,192.0.2.2",
            ]
            let sound = try await Program.run(["check"], old, in: scratch)
            #expect(sound.status == 0, "\(sound.err)")
            #expect(sound.out.contains("push_baidu_httpProxyHost means nothing here"), "\(sound.out)")
        }
    }

    @Test func `an unknown variable warns commands and stops servers`() async throws {
        try await TestInstallation.with { installation in
            let environment = ["BELFRY_DATA_DIRECTORY": installation.data, "BELFRY_LOG_LEVL": "debug"]
            let words = "BELFRY_LOG_LEVL is not a setting of docs/Configuration.md; the nearest is BELFRY_LOG_LEVEL"
            for command in [["app", "list"], ["app", "create", "--name", "Dairy"], ["migrate"]] {
                let ended = try await Program.run(command, environment, in: installation.scratch)
                #expect(ended.status == 0 && ended.err.contains("warning: \(words)"), "\(command): \(ended.err)")
                #expect(!ended.out.contains("LEVL"))
            }
            for command in [["serve", "--port", "0", "--management-port", "0"], ["check"]] {
                let ended = try await Program.run(command, environment, in: installation.scratch)
                #expect(ended.status != 0 && ended.err.contains(words), "\(command): \(ended.err)")
            }
        }
    }

    @Test(arguments: [
        "app list", "app create --name Dairy", "tenant create --name Dairy", "admin create",
        "receipt \(UUID().uuidString)", "keys list", "nodes", "admin list",
    ])
    func `a command makes no database where none exists`(command: String) async throws {
        try await Scratch.with { scratch in
            let directory = scratch.file("mistyped")
            let ended = try await Program.run(
                command.split(separator: " ").map(String.init) + ["--data-directory", directory], in: scratch)
            #expect(ended.status != 0)
            #expect(ended.err.contains("\(directory)/belfry.sqlite is not there"), "\(ended.err)")
            #expect(!FileManager.default.fileExists(atPath: directory))
        }
    }

    @Test func `a database without its key ring is not opened`() async throws {
        try await TestInstallation.with { installation in
            let ring = installation.data + "/key-ring"
            try FileManager.default.removeItem(atPath: ring)
            for command in [["serve", "--port", "0", "--management-port", "0"], ["check"], ["app", "list"]] {
                let ended = try await installation.run(command)
                #expect(ended.status != 0)
                #expect(ended.err.contains("key ring"), "\(command): \(ended.err)")
                #expect(!FileManager.default.fileExists(atPath: ring))
            }
        }
    }

    @Test func `credentials that cannot be used are refused with the reason`() async throws {
        try await TestInstallation.with { installation in
            let openssl = OpenSSL(scratch: installation.scratch)
            let good = try await openssl.p12("good", topic: TestServer.topic, days: 10, passphrase: "open sesame")
            let other = try await openssl.p12(
                "other", topic: "org.example.butcher", days: 10, passphrase: "open sesame")
            let expired = try await openssl.p12("expired", topic: TestServer.topic, days: -1, passphrase: "open sesame")
            let right = try installation.scratch.write("open sesame\n", to: "right")
            let wrong = try installation.scratch.write("open barley\n", to: "wrong")
            let p384 = try await openssl.key("p384", curve: "secp384r1")
            let p256 = try await openssl.key("p256", curve: "prime256v1")
            let noKey = try installation.scratch.write("hello", to: "no-key")
            let ids = ["--key-id", "ABCDEFGHIJ", "--team-id", "KLMNOPQRST"]
            let refused: [([String], String)] = [
                (["--apns-certificate", good, "--passphrase-file", wrong], "passphrase"),
                (["--apns-certificate", good], "passphrase"),
                (["--apns-certificate", other, "--passphrase-file", right], "org.example.butcher"),
                (["--apns-certificate", expired, "--passphrase-file", right], "expired"),
                (["--apns-certificate", noKey, "--passphrase-file", right], "apns-certificate"),
                (["--apns-key", p384] + ids, "P-256"), (["--apns-key", noKey] + ids, "apns-key"),
                (["--apns-key", p256, "--key-id", "SHORT", "--team-id", "KLMNOPQRST"], "key-id"),
                (["--apns-key", p256], "key-id"), ([], "apns-key"),
            ]
            let create = [
                "platform", "create", "--app", installation.application, "--type", "ios", "--mode", "production",
                "--name",
                "iOS",
                "--topic", TestServer.topic,
            ]
            for (arguments, words) in refused {
                let ended = try await installation.run(create + arguments)
                #expect(ended.status != 0, "\(arguments)")
                #expect(ended.err.contains(words), "\(arguments): \(ended.err)")
            }
            for arguments in [["--apns-certificate", good, "--passphrase-file", right], ["--apns-key", p256] + ids] {
                let ended = try await installation.run(create + arguments)
                #expect(ended.status == 0, "\(arguments): \(ended.err)")
            }
        }
    }
}

// MARK: - A full disk

extension ServerTests.OperationTests {
    @Test(.enabled(if: SmallDisk.canBeMounted, "mounting takes root"))
    func `a full disk turns pushes away, loses none, and heals`() async throws {
        try await SmallDisk.with(megabytes: 16) { disk in
            try await TestServer.open(
                mayLogErrors: true,
                configure: {
                    $0.storage.directory = disk.file("data")
                    $0.storage.keyRingFile = disk.file("data/key-ring")
                    // What could not be written down is sent again after this.
                    $0.delivery.lease = .seconds(5)
                    $0.providers.apns.deadline = .seconds(2)
                }
            ) { inProcess in
                let crowd = try await inProcess.crowd(500, topics: ["town"])
                var accepted = [try await inProcess.sender.push("Hello", toTopic: "town")]
                try disk.fill()
                var refused: Caller.TestAnswer?
                // What is left of the log's last block takes a few more.
                for _ in 0..<500 where refused == nil {
                    do {
                        accepted.append(try await inProcess.sender.push("Hello", toTopic: "town"))
                    } catch let error as Caller.Refused {
                        refused = error.reply
                    }
                }
                let reply = try #require(refused, "a full disk was never noticed")
                #expect(reply.status == 503)
                #expect(reply.headers["retry-after"] != nil)
                try disk.free()
                accepted.append(
                    try await eventually("pushes are taken again") {
                        try? await inProcess.sender.push("Hello", toTopic: "town")
                    })
                for id in accepted {
                    let receipt = try await inProcess.settled(id, within: .seconds(120))
                    #expect(receipt.counts.filter { $0.value > 0 } == [.accepted: crowd.count])
                }
            }
        }
    }
}
