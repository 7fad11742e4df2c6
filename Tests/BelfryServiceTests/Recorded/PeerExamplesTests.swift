import Foundation
import Testing

@testable import BelfryService

/// Requests of a real homeserver, and the answers that it got then: `Tests/Clients/peers/recorded`.
@Suite struct PeerExamplesTests {
    private struct RecordedRequest: Decodable {
        let path: String
        let body: String
        let status: Int
        let answer: String
    }

    @Test func `a real homeserver gets the recorded answers`() async throws {
        let file = URL(filePath: #filePath).appending(path: "../../../Clients/peers/recorded/synapse.json").standardized
        let exchanges = try JSONDecoder().decode([RecordedRequest].self, from: Data(contentsOf: file))
        #expect(exchanges.count > 5)
        try await GatewayServer.with(.matrix, ["org.example.chat.ios": .ios], wait: .seconds(60)) { server in
            for exchange in exchanges {
                let expected = try JSONValue(json: Array(exchange.answer.utf8))
                let isDead = expected != .object(["rejected": .array([])])
                let path = exchange.path.replacing("KEY", with: GatewayServer.key)
                let answer = try await server.post(path, exchange.body, settling: isDead ? .gone : .accepted)
                #expect(answer.status == exchange.status && answer.json == expected, "\(exchange.body): \(answer)")
            }
            #expect(try await server.pushes.count == exchanges.count)
        }
    }
}
