import BelfryService
import Foundation
import Testing

@Suite struct NodeShareTests {
    private let own = UUID()

    private func node(_ uuid: UUID = UUID(), silentFor silence: Duration = .zero, isDraining: Bool = false) -> Node {
        let now = Instant(milliseconds: 1_000_000)
        return Node(
            NodeReport(uuid: uuid, host: "a", version: "1", isDraining: isDraining), since: .zero,
            lastSeenAt: now + (.zero - silence), now: now)
    }

    @Test func `serving and finishing nodes have equal parts, gone ones none`() {
        let silent = Node.goneAfter + .milliseconds(1)
        #expect(NodeShare(of: own, among: [node(own)]) == .whole)
        #expect(NodeShare(of: own, among: [node(own), node()]) == NodeShare(nodes: 2))
        #expect(NodeShare(of: own, among: [node(own), node(), node(isDraining: true)]) == NodeShare(nodes: 3))
        #expect(NodeShare(of: own, among: [node(own), node(silentFor: silent)]) == .whole)
    }

    @Test func `a gone node is hidden once another replaces it`() {
        let (gone, silent) = (node(silentFor: Node.goneAfter + .milliseconds(1)), node(silentFor: Node.goneAfter))
        #expect([gone, node(own)].withoutReplaced.map(\.uuid) == [own])
        #expect([gone, silent].withoutReplaced == [silent])
        #expect([gone].withoutReplaced == [gone], "nobody has its place")
        #expect([silent, node(own)].withoutReplaced.count == 2, "it may come back")
    }

    @Test func `a node counts itself exactly once`() {
        #expect(NodeShare(of: own, among: []) == .whole)
        #expect(NodeShare(of: own, among: [node()]) == NodeShare(nodes: 2))
        #expect(NodeShare(of: own, among: [node(own, silentFor: .seconds(60)), node()]) == NodeShare(nodes: 2))
    }

    @Test(arguments: [1, 2, 3, 7, 1_000], [1, 5, 7, 600_000])
    func `all parts fit the whole, except a minimum of one`(nodes: Int, whole: Int) {
        let part = NodeShare(nodes: nodes).part(of: whole)
        #expect(part >= 1)
        #expect(part == 1 || part * nodes <= whole)
        #expect((part + 1) * nodes > whole, "more could be given")
    }

    @Test func `a rate and a burst are divided alike`() {
        #expect(
            RateLimit(perSecond: 100, burst: 1_000).part(NodeShare(nodes: 3)) == RateLimit(perSecond: 33, burst: 333))
        #expect(RateLimit(perSecond: 1, burst: 2).part(NodeShare(nodes: 3)) == RateLimit(perSecond: 1, burst: 1))
    }
}
