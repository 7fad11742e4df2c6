/// The operator's options for a provider that takes many devices in one request.
package struct MulticastOptions: Sendable {
    /// How many devices may be in flight for one platform.
    package var devicesMax: Int
    /// How long one batch may take.
    package var deadline: Duration

    package init(devicesMax: Int = 4_000, deadline: Duration = .seconds(30)) {
        self.devicesMax = devicesMax
        self.deadline = deadline
    }
}
