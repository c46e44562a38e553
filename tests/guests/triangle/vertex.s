; The vertex program, as the console runs it: an NGG pass-through program in the merged layout, waves of 32.
;
;   s2      group: vertices in bits 20:12, primitives in bits 30:22
;   s3      wave: vertices in bits 7:0, primitives in bits 15:8, its number in bits 27:24
;   s8-s11  user data: colour
;   s12-s14 user data: corner x, corner y, size
;   v0      the primitive, packed as its export takes it
;   v5      vertex number
;
; Vertex 0 is the corner, vertex 1 lies `size` to the right of it, vertex 2 `size` above it.

	.text
	; The first wave of a group asks for the group's export space.
	s_bfe_u32 s4, s3, 0x40018
	s_cmp_lg_u32 s4, 0
	s_cbranch_scc1 granted
	s_bfe_u32 s5, s2, 0x9000c
	s_bfe_u32 s6, s2, 0x90016
	s_lshl_b32 s6, s6, 12
	s_or_b32 m0, s6, s5
	s_sendmsg sendmsg(MSG_GS_ALLOC_REQ)
granted:
	; Lanes that hold a primitive export it: as many as the wave has primitives, from lane 0 on.
	s_bfe_u32 s5, s3, 0x80008
	s_bfm_b32 s6, s5, 0
	s_cmp_eq_u32 s5, 32
	s_cselect_b32 exec_lo, -1, s6
	s_cbranch_execz no_primitive
	exp prim v0, off, off, off done
no_primitive:
	; Lanes that hold a vertex export that.
	s_and_b32 s5, s3, 0xff
	s_bfm_b32 s6, s5, 0
	s_cmp_eq_u32 s5, 32
	s_cselect_b32 exec_lo, -1, s6
	s_cbranch_execz no_vertex
	v_and_b32_e32 v2, 1, v5
	v_lshrrev_b32_e32 v3, 1, v5
	v_cvt_f32_u32_e32 v2, v2
	v_cvt_f32_u32_e32 v3, v3
	v_mul_f32_e32 v2, s14, v2
	v_mul_f32_e32 v3, s14, v3
	v_add_f32_e32 v2, s12, v2
	v_add_f32_e32 v3, s13, v3
	v_mov_b32_e32 v4, 0
	v_mov_b32_e32 v6, 1.0
	exp pos0 v2, v3, v4, v6 done
	v_mov_b32_e32 v7, s8
	v_mov_b32_e32 v8, s9
	v_mov_b32_e32 v9, s10
	v_mov_b32_e32 v10, s11
	exp param0 v7, v8, v9, v10
no_vertex:
	s_endpgm
