//! Relic's own packets: one file each, added by one plug-in through the same door as anybody's.
//!
//! Sources for opcodes and layouts: Mesa's packet database (`pkt3.json`) for what the hardware defines, and
//! publicly documented console streams for NOP sub-operations.

mod acquire_mem;
mod clear_state;
mod cond_exec;
mod constant_ram;
mod context_control;
mod context_state;
mod copy_data;
mod dispatch_direct;
mod dispatch_indirect;
mod dma_data;
mod draw_index_2;
mod draw_index_auto;
mod draw_index_offset_2;
mod draw_indirect;
mod draw_indirect_multi;
mod event_write;
mod flip;
mod index_state;
mod indirect_arguments;
mod indirect_buffer;
mod marker;
mod nop;
mod num_instances;
mod old_draw;
mod pfp_sync_me;
mod registers_indirect;
mod release_mem;
mod rewind;
mod set_base;
mod set_predication;
pub(crate) mod set_registers;
mod wait_flip;
mod wait_reg_mem;
mod words;
mod write_data;

use relic_schedules::{Plugin, RuntimeBuilder};

pub use clear_state::reset_context;
pub use flip::Flip;

/// Every packet that Relic executes.
pub struct PacketsPlugin;

impl Plugin for PacketsPlugin {
    fn name(&self) -> &'static str {
        "Relic's packets"
    }

    fn build(&self, runtime: &mut RuntimeBuilder) {
        runtime
            .add_packet::<nop::Nop>()
            .add_packet::<context_control::ContextControl>()
            .add_packet::<clear_state::ClearState>()
            .add_packet::<set_registers::SetContextRegisters>()
            .add_packet::<set_registers::SetShaderRegisters>()
            .add_packet::<set_registers::SetUserConfigRegisters>()
            .add_packet::<registers_indirect::RegistersIndirect>()
            .add_packet::<num_instances::NumInstances>()
            .add_packet::<index_state::IndexType>()
            .add_packet::<index_state::IndexBase>()
            .add_packet::<index_state::IndexBufferSize>()
            .add_packet::<draw_index_auto::DrawIndexAuto>()
            .add_packet::<draw_index_2::DrawIndex2>()
            .add_packet::<draw_index_offset_2::DrawIndexOffset2>()
            .add_packet::<dispatch_direct::DispatchDirect>()
            .add_packet::<indirect_buffer::IndirectBuffer>()
            .add_packet::<dma_data::DmaData>()
            .add_packet::<write_data::WriteData>()
            .add_packet::<event_write::EventWrite>()
            .add_packet::<release_mem::ReleaseMem>()
            .add_packet::<acquire_mem::AcquireMem>()
            .add_packet::<wait_reg_mem::WaitRegMem>()
            .add_packet::<pfp_sync_me::PfpSyncMe>()
            .add_packet::<set_base::SetBase>()
            .add_packet::<dispatch_indirect::DispatchIndirect>()
            .add_packet::<draw_indirect::DrawIndirect>()
            .add_packet::<draw_indirect_multi::DrawIndirectMulti>()
            .add_packet::<old_draw::OldDraw>()
            .add_packet::<copy_data::CopyData>()
            .add_packet::<cond_exec::CondExec>()
            .add_packet::<set_predication::SetPredication>()
            .add_packet::<rewind::Rewind>()
            .add_packet::<constant_ram::WriteConstantRam>()
            .add_packet::<constant_ram::DumpConstantRam>()
            .add_packet::<context_state::ContextState>()
            .add_packet::<context_state::DrawReset>()
            .add_packet::<context_state::QueueReset>()
            .add_packet::<marker::PushMarker>()
            .add_packet::<marker::PopMarker>()
            .add_packet::<wait_reg_mem::ConsoleWait>()
            .add_packet::<wait_flip::WaitFlip>()
            .add_packet::<Flip>();
    }
}
