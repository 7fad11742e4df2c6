/// Apple's management of broadcast channels on this machine. `APNsSimulator` takes the broadcasts themselves, when both
/// are given the same book.
package typealias APNsChannelsSimulator = ServiceSimulator<APNsChannelsService>

/// How a simulated management of channels listens and whom it believes.
package struct APNsChannelsConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// The keys to verify provider tokens with; nil believes any well-formed one.
    package var keys: [APNsSigningKey]?
    /// Bundle ids that may have channels; nil allows any.
    package var topics: Set<String>?
    package var channels = ChannelRegistry()

    package init() {}
}
