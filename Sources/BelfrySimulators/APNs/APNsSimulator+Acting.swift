extension APNsSimulator {
    /// Does something to every open connection now, without waiting for a request.
    ///
    /// For `goAway`, `maxStreams`, `silence` and `close`; the others need a request and do nothing.
    package func act(_ action: APNsFault.Then) async throws {
        try await station.roster.each(APNsConnection.self) { $0.act(action) }
    }
}

extension APNsConnection {
    func act(_ action: APNsFault.Then) {
        guard session != nil else { return }
        switch action {
        case .goAway(let last, let reason, let code, let noticeFirst):
            goAway(
                lastStream(last ?? .all, before: nil), reason: reason, code: code ?? 0,
                noticeFirst: noticeFirst ?? false)
            pump()
        case .maxStreams(let streams):
            submitSettings(streamsAtOnceMax: streams)
            pump()
        case .silence: isSilent = true
        case .close: closeAbruptly()
        default: break
        }
    }
}
