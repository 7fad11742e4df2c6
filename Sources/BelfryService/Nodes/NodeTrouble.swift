/// The reasons why nodes do not send the rest of a push: that none runs, or that some have fallen silent.
package struct NodeTrouble: Sendable, Hashable {
    /// The reason why nothing is sent at present; nil while a node runs.
    package let absence: String?
    /// The nodes that may have died with batches in flight.
    package let silent: [Node]

    package static let none = NodeTrouble([], absence: nil, acceptedAt: .zero)

    /// - Parameter acceptedAt: of the push. A node that was silent before then has nothing of it.
    package init(_ nodes: [Node], absence: String?, acceptedAt: Instant) {
        self.absence = absence
        silent = nodes.filter { $0.isSilent && $0.lastSeenAt + Node.silentAfter >= acceptedAt }
    }

    package var isNone: Bool { absence == nil && silent.isEmpty }

    /// Sentences that say what the rest of a push waits for.
    ///
    /// - Parameter leasesEnd: when the last lease on a part of the push ends; nil while no node has any.
    package func waits(leasesEnd: Instant?, now: Instant) -> [String] {
        let end = leasesEnd.flatMap { $0 > now ? $0 : nil }
        if let absence {
            return [
                "\(absence): the rest is sent once one starts"
                    + (end.map { "; what was being sent when the last one ended, not before \($0.text)" } ?? "")
            ]
        }
        guard let end else { return [] }
        return silent.map {
            "if \($0.inWords), which has not been heard of since \($0.lastSeenAt.text), was sending some of the rest, another node "
                + "sends that by \(end.text)"
        }
    }

    /// A sentence on the next step for a device that has no answer; nil where the nodes make no difference.
    func next(_ next: DeviceDelivery.Next?, now: Instant) -> String? {
        switch (next, absence) {
        case (.nothing?, _): nil
        case (.inFlight(let until)?, let absence?):
            "\(absence): it was being sent when the last one ended, and is sent again once one starts, not before "
                + until.text
        case (.attempt(let at)?, let absence?) where at > now:
            "\(absence): it is sent once one starts, not before \(at.text)"
        case (.attempt?, let absence?): "\(absence): it is sent once one starts"
        case (nil, let absence?): "\(absence): the audience of the push is looked up once one starts"
        case (.inFlight(let until)?, nil):
            silent.last.map {
                "it is being sent; if that was by \($0.inWords), which has not been heard of since \($0.lastSeenAt.text), another node "
                    + "sends it after \(until.text)"
            }
        case (.attempt?, nil), (nil, nil): nil
        }
    }
}

extension Node {
    fileprivate var inWords: String {
        "node \(host)\(address.isEmpty ? "" : " (\(address))")"
    }
}
