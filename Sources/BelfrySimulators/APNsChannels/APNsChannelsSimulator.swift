/// Apple's management of broadcast channels on this machine. `APNsSimulator` takes the broadcasts themselves, when both
/// use the same `ChannelRegistry`.
package typealias APNsChannelsSimulator = ServiceSimulator<APNsChannelsService>

/// How the simulated channel management listens and which senders it accepts.
package struct APNsChannelsConfiguration: ServiceConfiguration {
    package var listening = Listening()
    /// The keys to verify provider tokens with; nil accepts any well-formed one.
    package var keys: [APNsSigningKey]?
    /// Bundle ids that may have channels; nil allows any.
    package var topics: Set<String>?
    package var channels = ChannelRegistry()

    package init() {}
}
