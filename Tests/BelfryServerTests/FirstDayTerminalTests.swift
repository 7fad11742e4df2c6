import BelfryServer
import BelfryService
import Foundation
import Testing

/// Questions and output for a person at a terminal.
extension CommandTests {
    @Suite struct FirstDayTerminalTests {}
}

extension CommandTests.FirstDayTerminalTests {
    @Test func `a push to everyone shows the count and needs yes`() async throws {
        try await TestInstallation.with { installation in
            _ = try await installation.crowd(3)
            let push =
                ["push", "--app", installation.application, "--everyone", "--body", "Hello"] + installation.storageFlags
            let question = "Send to all 3 active devices of Bakery? [y/N] "
            let refused = try await Program.runAtTerminal(push, replying: [question: "n"])
            #expect(refused.status != 0 && refused.screen.contains("nothing was sent"), "\(refused)")
            let pushes = try await installation.ask("apps/\(installation.application)/pushes")
            #expect(pushes.contains(#""pushes":[]"#), "\(pushes)")
            let sent = try await Program.runAtTerminal(push, replying: [question: "y"])
            #expect(sent.status == 0 && sent.screen.contains("receipt_id"), "\(sent)")
        }
    }

    @Test(arguments: [80, 120] as [UInt16])
    func `no line of a table is wider than the terminal`(columns: UInt16) async throws {
        try await TestInstallation.with { installation in
            try await installation.withResources { resources in
                let platform = try await resources.operatorService.platform(
                    try #require(UUID(uuidString: installation.platform)))
                let words = String(repeating: "the provider has much to say about these credentials ", count: 8)
                try await resources.store.park(
                    platform.key, Parking(cause: .credentials, detail: words, since: resources.clock.now))
            }
            for command in [
                ["app", "show", installation.application], ["platform", "list", "--app", installation.application],
                ["audit"], ["admin", "list"], ["nodes"],
            ] {
                let shown = try await Program.runAtTerminal(command + installation.storageFlags, columns: columns)
                #expect(shown.status == 0, "\(shown)")
                // A warning is no line of the table: the terminal wraps it.
                let lines = shown.screen.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("warning: ") }
                let widest = lines.map(\.count).max() ?? 0
                #expect(0..<Int(columns) + 1 ~= widest, "\(command): \(widest) columns:\n\(shown.screen)")
            }
        }
    }

    @Test func `a push's progress is one vanishing line`() async throws {
        try await TestInstallation.with { installation in
            _ = try await installation.crowd(3)
            let server = try await installation.serve()
            defer { server.endAtOnce() }
            _ = try await server.addresses()
            let followed = try await Program.runAtTerminal(
                ["push", "--app", installation.application, "--topic", "town", "--body", "Hello", "--follow"]
                    + installation.storageFlags)
            #expect(followed.status == 0 && followed.screen.contains("\r\u{1B}[K"), "\(followed)")
            let last = followed.screen.split(separator: "\u{1B}[K").last ?? ""
            #expect(last.hasPrefix("receipt_id") && last.contains("accepted         3"), "\(followed)")
            try await server.end(SIGTERM)
        }
    }
}
