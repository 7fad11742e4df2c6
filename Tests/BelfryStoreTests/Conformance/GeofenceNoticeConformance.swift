import BelfryCore
import BelfryTesting
import Testing

@Suite struct GeofenceNoticeConformance {
    @Test(arguments: Engine.allCases)
    func `changes that follow on each other leave one notice, which is due when they end`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let shop = try await scene.locate()
            _ = try await scene.fence([shop])
            #expect(try await scene.dueNotices().isEmpty)
            scene.clock.advance(by: .milliseconds(900))
            _ = try await scene.fence([shop])
            scene.clock.advance(by: .milliseconds(999))
            #expect(try await scene.dueNotices().isEmpty)
            scene.clock.advance(by: .milliseconds(1))
            let notices = try await scene.dueNotices()
            #expect(notices.map(\.platformKey) == [scene.platform.key])
            #expect(notices.map(\.applicationKey) == [scene.application.key])
            try await scene.store.settle(try #require(notices.first))
            #expect(try await scene.dueNotices().isEmpty)
        }
    }

    @Test(arguments: Engine.allCases)
    func `changes without end do not put the notice off for ever`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let shop = try await scene.locate()
            for _ in 0..<20 {
                _ = try await scene.fence([shop])
                scene.clock.advance(by: .milliseconds(500))
            }
            #expect(try await scene.dueNotices().count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a change while the push is made leaves its notice`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let shop = try await scene.locate()
            _ = try await scene.fence([shop])
            scene.clock.advance(by: .seconds(1))
            let notice = try #require(try await scene.dueNotices().first)
            _ = try await scene.fence([shop])
            try await scene.store.settle(notice)
            scene.clock.advance(by: .seconds(1))
            #expect(try await scene.dueNotices().count == 1)
        }
    }

    @Test(arguments: Engine.allCases)
    func `a notice that is put off comes up again`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            _ = try await scene.fence([try await scene.locate()])
            scene.clock.advance(by: .seconds(1))
            let notice = try #require(try await scene.dueNotices().first)
            try await scene.store.postpone(notice, for: .seconds(60))
            scene.clock.advance(by: .seconds(59))
            #expect(try await scene.dueNotices().isEmpty)
            scene.clock.advance(by: .seconds(1))
            #expect(try await scene.dueNotices() == [notice])
        }
    }

    @Test(arguments: Engine.allCases)
    func `only the platforms concerned get a notice`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let fcm = try await scene.store.create(.of(scene.application, kind: .androidFCM))
            _ = try await scene.store.create(.of(scene.application, kind: .windows8))
            _ = try await scene.store.create(.of(try await scene.store.create(.named("stranger"))))
            let shop = try await scene.locate()
            let android = try await scene.fence([shop], platform: .android)
            try await expectNotices(scene, [fcm])
            _ = try await scene.store.update(android.key, of: scene.application.key) { try $0.with(platform: .ios) }
            try await expectNotices(scene, [scene.platform, fcm])
            let ios = try await scene.fence([shop], platform: .ios)
            try await expectNotices(scene, [scene.platform])
            _ = try await scene.store.delete(ios.key, of: scene.application.key)
            try await expectNotices(scene, [scene.platform])
            _ = try await scene.store.update(shop.key, of: scene.application.key) { try $0.moved(to: 3) }
            try await expectNotices(scene, [scene.platform])
        }
    }

    @Test(arguments: Engine.allCases)
    func `devices are told of a start, and not of what they do not see`(engine: Engine) async throws {
        try await Scene.play(on: engine) { scene in
            let shop = try await scene.locate()
            let later = try await scene.fence([shop], startsIn: .seconds(60), expiresIn: .seconds(120))
            let over = try await scene.fence([shop], expiresIn: .milliseconds(-1))
            #expect(over.phase == .over)
            _ = try await scene.store.delete(over.key, of: scene.application.key)
            _ = try await scene.store.update(later.key, of: scene.application.key) { try $0.with(platform: .ios) }
            try await expectNotices(scene, [])
            scene.clock.advance(by: .seconds(60))
            _ = try await scene.store.turnGeofences()
            try await expectNotices(scene, [scene.platform])
            scene.clock.advance(by: .seconds(60))
            _ = try await scene.store.turnGeofences()
            try await expectNotices(scene, [])
        }
    }

    /// Settles what is due a second from now.
    private func expectNotices(_ scene: Scene, _ platforms: [Platform]) async throws {
        scene.clock.advance(by: .seconds(1))
        let notices = try await scene.dueNotices()
        #expect(notices.map(\.platformKey).sorted() == platforms.map(\.key).sorted())
        for notice in notices { try await scene.store.settle(notice) }
    }
}
