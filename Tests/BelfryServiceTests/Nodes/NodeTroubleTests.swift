import BelfryService
import FoundationEssentials
import Testing

@Suite struct NodeTroubleTests {
    private let accepted = Instant(milliseconds: 1_750_000_000_000)
    private var now: Instant { accepted + .seconds(30) }

    /// A node that was last heard of so long after the push was accepted, as it stands half a minute after that.
    private func node(_ host: String, heardOf delay: Duration) -> Node {
        Node(
            NodeReport(uuid: UUID(), host: host, address: "http://10.0.0.1:8080", version: "1"), since: .zero,
            lastSeenAt: accepted + delay, now: now)
    }

    private func advice(_ next: DeviceDelivery.Next?, _ nodes: NodeTrouble) -> String {
        let delivery = next.map {
            DeviceDelivery(platform: Key(1), answer: .pending, attempts: [], claims: 1, answeredAt: nil, next: $0)
        }
        return DeliveryAdvice(delivery, isActive: true, parked: nil, nodes: nodes, now: now).next
    }

    @Test func `a push waits for a silent node's lease`() {
        let nodes = NodeTrouble(
            [
                node("alive", heardOf: .seconds(28)), node("dead", heardOf: .seconds(5)),
                node("older", heardOf: .seconds(-60)),
            ], absence: nil, acceptedAt: accepted)
        let end = accepted + .seconds(120)
        #expect(
            nodes.waits(leasesEnd: end, now: now) == [
                "if node dead (http://10.0.0.1:8080), which has not been heard of since \((accepted + .seconds(5)).text), "
                    + "was sending some of the rest, another node sends that by \(end.text)"
            ])
        #expect(nodes.waits(leasesEnd: nil, now: now).isEmpty, "no node has any of it, so it waits for none")
        #expect(nodes.waits(leasesEnd: now, now: now).isEmpty, "the lease is over")
        let story = advice(.inFlight(until: end), nodes)
        #expect(story.contains("node dead") && story.hasSuffix("sends it after \(end.text)"), "\(story)")
        #expect(!advice(.attempt(at: end), nodes).contains("dead"), "what waits is sent by any node")
    }

    @Test func `receipts and stories say when no server runs`() {
        let nodes = NodeTrouble([], absence: "no server is running on x", acceptedAt: accepted)
        #expect(
            nodes.waits(leasesEnd: nil, now: now) == ["no server is running on x: the rest is sent once one starts"])
        let end = now + .seconds(90)
        #expect(nodes.waits(leasesEnd: end, now: now).first?.hasSuffix("not before \(end.text)") == true)
        for next in [nil, .attempt(at: .zero), .attempt(at: end), .inFlight(until: end)] as [DeviceDelivery.Next?] {
            #expect(advice(next, nodes).hasPrefix("no server is running on x: "), "\(String(describing: next))")
        }
        let answered = DeliveryAdvice(
            DeviceDelivery(
                platform: Key(1), answer: .accepted, attempts: [], claims: 1, answeredAt: nil, next: .nothing),
            isActive: true, parked: nil, nodes: nodes, now: now)
        #expect(answered.next == "nothing: the device has its answer")
    }
}
