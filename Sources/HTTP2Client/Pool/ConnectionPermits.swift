/// Bounds how many connections many pools open together.
package protocol ConnectionPermits: Sendable {
    /// Whether one more may be opened.
    func take() -> Bool
    /// A connection that a permit was taken for is gone, or never came about.
    func giveBack()
}
