package import BelfryService
package import FoundationEssentials

extension MemoryStore {
    package func recordHeartbeat(_ report: NodeReport) async throws {
        let now = clock.now
        transaction { contents in
            let since = contents.nodes[report.uuid]?.since ?? now
            contents.nodes[report.uuid] = Contents.NodeRow(report: report, since: since, lastSeenAt: now)
            contents.nodes = contents.nodes.filter { now - $0.value.lastSeenAt <= Node.deletedAfter }
        }
    }

    package func databaseSize() async throws -> DatabaseSize { DatabaseSize(bytes: 0, engineVersion: "memory") }

    package func remove(_ node: UUID) async throws { transaction { $0.nodes[node] = nil } }

    package func nodes() async throws -> [Node] {
        let now = clock.now
        return contents.nodes.values
            .sorted { ($0.since, $0.report.uuid.uuidString) < ($1.since, $1.report.uuid.uuidString) }
            .map { Node($0.report, since: $0.since, lastSeenAt: $0.lastSeenAt, now: now) }
    }

    package func add(_ counts: [CommandCount]) async throws {
        transaction { contents in
            for count in counts { contents.commandCounts[count.series, default: 0] += count.amount }
        }
    }

    package func takeCommandCounts() async throws -> [CommandCount] {
        transaction { contents in
            defer { contents.commandCounts = [:] }
            return contents.commandCounts.map { CommandCount($0.key, $0.value) }
        }
    }
}
