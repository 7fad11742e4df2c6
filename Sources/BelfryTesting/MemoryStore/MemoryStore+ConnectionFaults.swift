package import BelfryService

extension MemoryStore {
    package func note(_ fault: ConnectionFault, on platform: Key<Platform>) async throws {
        let now = clock.now
        transaction { contents in
            guard let uuid = contents.platforms[platform]?.uuid else { return }
            contents.connectionFaults[platform] = PlatformFault(platform: uuid, fault: fault, at: now)
        }
    }

    package func connectionFaults(of push: Key<Push>) async throws -> [PlatformFault] {
        transaction { contents in
            guard let acceptedAt = contents.pushes[push]?.push.acceptedAt else { return [] }
            return contents.openPlatforms(of: push).compactMap { contents.connectionFaults[$0] }
                .filter { $0.at >= acceptedAt }
        }
    }
}
