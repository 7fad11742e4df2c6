import AsyncHTTPClient
import Foundation
import Synchronization

/// Sends each request to the next of its nodes, and once more to the one after it if the first refuses the connection, breaks it off
/// or answers 503.
final class Balancer: Sendable {
    private let nodes: [NodeProgram]
    private let turn = Atomic(0)
    private let repetitions = Atomic(0)

    init(_ nodes: [NodeProgram]) { self.nodes = nodes }

    /// How many requests went to a second node.
    var repeated: Int { repetitions.load(ordering: .relaxed) }

    struct Failed: Error, CustomStringConvertible {
        let reasons: [String]

        var description: String { "two nodes refused: \(reasons)" }
    }

    /// Throws `Failed` when the second node refuses too, and at once when a node does not answer in time.
    func send(_ caller: Caller, _ path: String, _ body: String, key: UUID) async throws -> Caller.TestAnswer {
        let first = turn.add(1, ordering: .relaxed).newValue
        var reasons: [String] = []
        for number in [first, first + 1] {
            if !reasons.isEmpty { repetitions.add(1, ordering: .relaxed) }
            do {
                let node = Caller(
                    base: nodes[number % nodes.count].address ?? "", user: caller.user, secret: caller.secret)
                let reply = try await node.send("POST", path, body, headers: ["Idempotency-Key": key.uuidString])
                guard reply.status == 503 else { return reply }
                reasons.append("\(reply)")
            } catch let error as HTTPClientError where error.isSilence {
                throw error
            } catch let error as CancellationError {
                throw error
            } catch {
                reasons.append("\(error)")
            }
        }
        throw Failed(reasons: reasons)
    }
}

extension HTTPClientError {
    /// Whether the node was there, and said nothing.
    fileprivate var isSilence: Bool { self == .deadlineExceeded || self == .readTimeout }
}
