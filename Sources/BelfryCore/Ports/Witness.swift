/// Is told that something may have happened to a push. It never waits and never fails; whoever wants to know more reads
/// the receipt.
package protocol Witness: Sendable {
    func noticed(_ push: PushHead)
}

/// Takes no notice of anything.
package struct NoWitness: Witness {
    package init() {}

    package func noticed(_ push: PushHead) {}
}
