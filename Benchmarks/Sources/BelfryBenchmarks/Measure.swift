import ArgumentParser
import Foundation

struct Measure: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Measure all rows, or one.")

    enum Name: String, CaseIterable, ExpressibleByArgument {
        case client, slowAnswers = "slow-answers", wholePath = "whole-path", idle, urgent, registrations, schedules
        case audience, expressions, search, imports
        case smallPushes = "small-pushes", filling
        case gateway, calls, webhooks
        case fcm, webPush = "web-push", posting, mixed, isolation
        case dashboard
        case postgres
        case httpIdle = "http-idle", nodes, peers
        case world, topics

        /// The rows of a run without a choice.
        static let usual = allCases.filter { ![.world, .topics].contains($0) }
        /// The rows of a run with `--scale`: those whose figures the number of devices may change.
        static let scaled: [Self] = [.world, .wholePath, .urgent, .topics, .registrations, .search, .smallPushes]
    }

    @Flag(help: "100,000 devices instead of 1,000,000, and fewer rounds.") var quick = false
    @Flag(help: "10,000,000 devices, which one import brings, and the rows that they may change.") var scale = false
    @Option(help: "So many devices instead of 1,000,000.") var devices: Int?
    @Option(help: "Measure this row alone; may be given several times.") var only: [Name] = []
    @Option(help: "The program to measure.") var belfry = ".build-release/release/belfry"
    @Option(help: "Where databases and logs go; it has to be on a real disk.") var directory = ".build-bench/stage"
    @Flag(help: "Keep the database with its devices for the next run.") var keep = false

    func run() async throws {
        // The programs that are started must not be asked to go on when one of them has died.
        signal(SIGPIPE, SIG_IGN)
        let machine = Machine.description
        let environment = try await BenchmarkEnvironment(
            options: BenchmarkEnvironment.Options(
                belfry: belfry, quick: quick, scale: scale, keeps: keep, count: devices),
            directory: directory)
        do {
            let table = try await measure(environment)
            try await environment.strike()
            print("\(machine)\n\n\(table.text)")
        } catch {
            // A server left behind would share the next run's database, and its work.
            try await environment.strike()
            throw error
        }
    }

    private func measure(_ environment: BenchmarkEnvironment) async throws -> Table {
        var table = Table(heads: Row.heads)
        for name in !only.isEmpty ? only : scale ? Name.scaled : Name.usual {
            note("→ \(name.rawValue)")
            let rows = try await measure(name, environment)
            for row in rows { note("  " + row.cells.joined(separator: " | ")) }
            table.rows += rows.map(\.cells)
        }
        return table
    }

    private func measure(_ name: Name, _ environment: BenchmarkEnvironment) async throws -> [Row] {
        switch name {
        case .client: try await ClientRows(environment: environment, connections: 1, latency: 0).measure()
        case .slowAnswers: try await ClientRows(environment: environment, connections: 8, latency: 50).measure()
        case .wholePath: try await WholePathRows(environment: environment).measure()
        case .idle: try await LatencyRows(environment: environment, isBusy: false).measure()
        case .urgent: try await LatencyRows(environment: environment, isBusy: true).measure()
        case .audience: try await AudienceRow(environment: environment).measure()
        case .expressions: try await ExpressionRows(environment: environment).measure()
        case .imports: try await ImportRows(environment: environment).measure()
        case .smallPushes: try await SmallPushRows(environment: environment).measure()
        case .filling: try await FillingRows(environment: environment).measure()
        case .gateway: try await GatewayRows(environment: environment).measure()
        case .calls: try await CallRow(environment: environment).measure()
        case .webhooks: try await WebhookRow(environment: environment).measure()
        case .search: try await SearchRow(environment: environment).measure()
        case .registrations: try await RegistrationRow(environment: environment).measure()
        case .fcm: try await FCMClientRows(environment: environment).measure()
        case .webPush: try await WebPushRows(environment: environment).measure()
        case .posting: try await PostingRows(environment: environment).measure()
        case .mixed: try await MixedRows(environment: environment).measure()
        case .isolation: try await IsolationRow(environment: environment).measure()
        case .schedules: try await ScheduleRow(environment: environment).measure()
        case .dashboard: try await DashboardRows(environment: environment).measure()
        case .postgres: try await PostgresRows(environment: environment).measure()
        case .httpIdle: try await HTTPIdleRow(environment: environment).measure()
        case .nodes: try await NodeRows(environment: environment).measure()
        case .peers: try await PeerRows(environment: environment).measure()
        case .world: try await WorldRow(environment: environment).measure()
        case .topics: try await TopicsRow(environment: environment).measure()
        }
    }
}
